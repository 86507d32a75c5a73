import { sleep, type Clock } from '../../platform/run/clock.ts'
import { killRest, signalEngine, untilGroupEnds } from './engine-signals.ts'
import { removeIdentity } from './identity-file.ts'
import { endWithUs } from './living-engines.ts'
import type { LogReader, OnLine } from './log-reader.ts'
import type { ProcessIdentity } from './process-identity.ts'

/** A running engine, started by this worker or an earlier one. */
export interface EngineProcess {
  readonly identity: ProcessIdentity
  /**
   * Resolves when the process (after a stop, its group) has ended, its last lines are read and its leftovers are gone;
   * it waits at most half a second for the latter two. Never rejects.
   */
  readonly exited: Promise<Exit>
  /**
   * Sends the signal to the whole group, and SIGKILL after `killAfterMs`: the first process is often a shell that ends
   * at once, and its children get the same time. Resolves only when the process and all its leftovers are gone: a
   * process that hangs in a driver survives even SIGKILL. May be called again with less patience, and after the end.
   */
  stop(how: { signal: NodeJS.Signals; killAfterMs: number }): Promise<Exit>
  /** Lets it run on without us, for the next worker to adopt. From then on nothing is reported: `exited` stays open. */
  leave(): void
}

/** Both null: an earlier run of the worker started it, so its exit status is unknown. */
export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
  /** At most 20. */
  lastLines: string[]
}

export interface EngineHooks {
  clock: Clock
  onLine: OnLine
}

export interface Followed {
  identity: ProcessIdentity
  folder: string
  logs: LogReader
  ended: Promise<Pick<Exit, 'code' | 'signal'>>
  clock: Clock
  /** Stops waiting for the end. */
  onLeave: () => void
}

const KILL_AGAIN_MS = 250

/**
 * The states of an engine, from its start:
 *
 *   running ──▶ ended: the rest of its group is killed, its last lines are read ──▶ exited ──▶ gone: no process is left
 *      │         ▲
 *      ├─▶ stopped: the whole group may end by itself, until its time is over and it is killed
 *      └─▶ left: nothing is done or reported any more
 */
export function followEngine({ identity, folder, logs, ended, clock, onLeave }: Followed): EngineProcess {
  const forget = endWithUs(identity, folder)
  /** The first process has ended. */
  const over = new AbortController()
  const groupOver = new AbortController()
  const left = new AbortController()
  const killing = new AbortController()
  let isStopping = false
  const ending = ended.then(async (how) => {
    if (left.signal.aborted) return never<typeof how>()
    over.abort()
    if (isStopping) await untilGroupEnds(identity, clock, AbortSignal.any([killing.signal, left.signal]))
    groupOver.abort()
    return how
  })
  const gone = ending.then(async () => {
    await killRest(identity, clock, left.signal)
    forget('ended')
    removeIdentity(folder, identity)
  })
  const exited = ending.then(async (how): Promise<Exit> => {
    await logs.finish(gone, clock)
    return { ...how, lastLines: logs.lastLines }
  })
  return {
    identity,
    exited,
    async stop({ signal, killAfterMs }) {
      isStopping = true
      if (!over.signal.aborted) signalEngine(identity, signal)
      void sleep(clock, killAfterMs, AbortSignal.any([groupOver.signal, left.signal])).then(() => {
        killing.abort()
        return killAgain(identity, clock, AbortSignal.any([over.signal, left.signal]))
      })
      await gone
      return exited
    },
    leave() {
      left.abort()
      forget('left')
      logs.close()
      onLeave()
    },
  }
}

/** Repeats the kill: the first attempt may have come at a moment when the system could not say whose process it is. */
async function killAgain(identity: ProcessIdentity, clock: Clock, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    signalEngine(identity, 'SIGKILL')
    await sleep(clock, KILL_AGAIN_MS, over)
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => {})
}
