import { AppError } from '../../src/platform/errors.ts'
import type { EngineHooks, EngineProcess, Exit } from '../../src/worker/processes/engine-process.ts'
import type { ProcessIdentity } from '../../src/worker/processes/process-identity.ts'
import type { Processes } from '../../src/worker/processes/processes.ts'
import type { EventQueue } from '../event-queue.ts'
import type { SimProcess } from '../ground/sim-process.ts'
import type { Random } from '../random.ts'
import type { SimEngine } from './engine.ts'
import type { Machine } from './machine.ts'

export interface SimProcessesDeps {
  machine: Machine
  /** The worker that asks. */
  process: SimProcess
  queue: EventQueue
  random: Random
  onToldToEnd: (machine: Machine, engine: SimEngine) => void
}

/** To be started, to be noticed by a worker that is not its parent. */
const MOST_SPAWN_MS = 30
const MOST_LOOK_MS = 250

/** The processes of a simulated machine, as the operating system shows them to one run of a worker. */
export function simProcesses({ machine, process, queue, random, onToldToEnd }: SimProcessesDeps): Processes {
  const follow = (engine: SimEngine, hooks: EngineHooks, folder: string, isChild: boolean): EngineProcess => {
    const { promise: exited, resolve } = Promise.withResolvers<Exit>()
    engine.keeper = {
      onLine: (text) => process.run(() => hooks.onLine('stderr', text)),
      onExit: (code, signal) => {
        const exit = isChild ? { code, signal, lastLines: [] } : { code: null, signal: null, lastLines: [] }
        queue.after(isChild ? 1 : random.between(1, MOST_LOOK_MS), () =>
          process.run(() => {
            machine.journal.identities.delete(folder)
            resolve(exit)
          }),
        )
      },
    }
    return {
      identity: identityOf(machine, engine),
      exited,
      stop({ killAfterMs }) {
        if (engine.state !== 'gone') onToldToEnd(machine, engine)
        engine.terminate()
        process.clock.after(killAfterMs, () => engine.kill())
        return exited
      },
      leave() {
        engine.keeper = undefined
      },
    }
  }
  const find = ({ pid, boot }: ProcessIdentity): SimEngine | undefined =>
    boot === machine.bootName ? machine.engines.get(pid) : undefined

  const engineOn = (port: number): SimEngine | undefined =>
    [...machine.engines.values()].find((engine) => engine.port === port)

  return {
    start({ folder }, hooks) {
      return new Promise((resolve, reject) => {
        queue.after(random.between(1, MOST_SPAWN_MS), () =>
          process.run(() => {
            const entry = machine.journal.read(folder)
            if (!entry || machine.isDiskFull) return reject(machine.diskFull())
            if (!machine.isPortFree(entry.port)) {
              return reject(new AppError('unavailable', `Port ${entry.port} is in use.`))
            }
            const engine = machine.startEngine(entry.port, entry.spec)
            machine.journal.identities.set(folder, identityOf(machine, engine))
            resolve(follow(engine, hooks, folder, true))
          }),
        )
      })
    },
    readIdentity: (folder) => machine.journal.identities.get(folder),
    adopt(identity, folder, hooks) {
      const engine = find(identity)
      return engine && follow(engine, hooks, folder, false)
    },
    killStrays: async () => {},
    endUnknown: async () => 0,
    memoryBytes: async (identity) => {
      const engine = find(identity)
      return engine && machine.memory.takenBy(engine)?.ram
    },
    listener: async () => undefined,
    kernelKills: () => undefined,
    answers: async (port) => engineOn(port)?.isServing ?? false,
    responds: async (port) => engineOn(port)?.isFrozen === false,
  }
}

function identityOf(machine: Machine, { pid, startedMs }: SimEngine): ProcessIdentity {
  return { pid, startedAt: String(startedMs), boot: machine.bootName, mark: String(pid) }
}
