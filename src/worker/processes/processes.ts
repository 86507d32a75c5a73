import { connect } from 'node:net'
import type { EngineProfile } from '../../api/engine-profile.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { get } from '../../http/server/node-http.ts'
import { adoptEngine } from './adopt-engine.ts'
import type { EngineHooks, EngineProcess } from './engine-process.ts'
import { killStrays } from './engine-signals.ts'
import { groupMemory } from './group-memory.ts'
import { readIdentity } from './identity-file.ts'
import { kernelKills } from './kernel-kills.ts'
import { listenerOf, type Listener } from './listener.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { endUnknownEngines } from './unknown-engines.ts'
import { startEngine, type EngineCommand } from './start-engine.ts'

/** All that a replica asks of the operating system about its engine. The simulator brings its own implementation. */
export interface Processes {
  start(command: EngineCommand, hooks: EngineHooks): Promise<EngineProcess>
  /** The identity that an earlier run of the worker wrote into a folder; undefined when it is missing or unreadable. */
  readIdentity(folder: string): ProcessIdentity | undefined
  /** Undefined when the process no longer runs. */
  adopt(identity: ProcessIdentity, folder: string, hooks: EngineHooks): EngineProcess | undefined
  killStrays(identity: ProcessIdentity, clock: Clock): Promise<unknown>
  /** Ends the engines of this worker whose marks are not among the known ones. Returns how many there were. */
  endUnknown(worker: string, known: ReadonlySet<string>, clock: Clock): Promise<number>
  /** Undefined where that cannot be measured. */
  memoryBytes(identity: ProcessIdentity): Promise<number | undefined>
  listener(port: number, identity: ProcessIdentity): Promise<Listener | undefined>
  kernelKills(): number | undefined
  /** Whether the engine on this port is ready, for profiles that define a readiness request. */
  answers: (port: number, ready: Exclude<EngineProfile['ready'], { log: string }>) => Promise<boolean>
  /** Whether it sends any HTTP answer at all. */
  responds: (port: number, path: string) => Promise<boolean>
}

export const realProcesses: Processes = {
  start: startEngine,
  readIdentity,
  adopt: adoptEngine,
  killStrays,
  endUnknown: endUnknownEngines,
  memoryBytes: groupMemory,
  listener: listenerOf,
  kernelKills: () => kernelKills(),
  answers: async (port, ready) => ('http' in ready ? (await statusOf(port, ready.http)) === 200 : accepts(port)),
  responds: async (port, path) => (await statusOf(port, path)) !== undefined,
}

const PROBE_TIMEOUT_MS = 2000

function statusOf(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = get({ host: '127.0.0.1', port, path, agent: false, timeout: PROBE_TIMEOUT_MS }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    probe.once('timeout', () => probe.destroy())
    probe.once('error', () => resolve(undefined))
  })
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: PROBE_TIMEOUT_MS })
    const end = (accepted: boolean): void => {
      socket.destroy()
      resolve(accepted)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}
