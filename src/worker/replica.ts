import type { ReplicaStartMessage } from '../api/bus/messages.ts'
import { replicaKey } from '../core/lib/replica-key.ts'
import { sleep, type Clock } from '../platform/clock.ts'
import { messageOf } from '../platform/errors.ts'
import type { Logger } from '../platform/log.ts'
import { describeExit, startEngineProcess, waitUntilReady, type EngineProcess } from './engine-process.ts'
import { commandFor, type EngineProfile } from './engine-profiles.ts'
import type { Ports } from './ports.ts'

export interface ReplicaDeps {
  ports: Ports
  clock: Clock
  log: Logger
  /** Something a heartbeat should tell has changed. */
  onChange: () => void
  limits: ReplicaLimits
}

export interface ReplicaLimits {
  /** How long a start may take before it counts as failed. */
  readyWithinMs: number
  /** How long running requests may take to finish when the replica is stopped. */
  drainMs: number
  /** How long the engine may take to end by itself after SIGTERM. */
  killAfterMs: number
}

/**
 * One replica on this node.
 *
 *   loading ──▶ ready ──▶ stopping ──▶ (gone)
 *      └──────────┴─▶ failed (no process any more; kept so that heartbeats tell why, until it is stopped)
 */
export class WorkerReplica {
  readonly spec: ReplicaStartMessage
  readonly key: string
  state: 'loading' | 'ready' | 'stopping' | 'failed' = 'loading'
  error: string | undefined
  inFlight = 0
  port: number | undefined

  readonly #deps: ReplicaDeps
  readonly #stopped = new AbortController()
  #engine: EngineProcess | undefined
  #onIdle: (() => void) | undefined

  constructor(spec: ReplicaStartMessage, deps: ReplicaDeps) {
    this.spec = spec
    this.key = replicaKey(spec.model_name, spec.replica_index)
    this.#deps = deps
  }

  /** Takes a port, starts the engine and waits until it serves. Ends in `ready` or `failed`; never throws. */
  async start(profile: EngineProfile): Promise<void> {
    const { ports, clock, log, limits } = this.#deps
    try {
      this.port = await ports.take()
    } catch (error) {
      this.#fail(messageOf(error))
      return
    }
    if (this.#stopped.signal.aborted) return this.#releasePort()
    const { model_name: modelName, options } = this.spec
    const command = commandFor(profile, modelName, this.port, options)
    const engine = startEngineProcess(command, clock, (line) => log.debug({ replica: this.key, line }, 'engine'))
    this.#engine = engine
    const ended = new AbortController()
    void engine.exited.then((exit) => {
      ended.abort()
      this.#releasePort()
      if (this.state !== 'stopping') this.#fail(describeExit(exit))
    })
    const over = AbortSignal.any([ended.signal, this.#stopped.signal])
    const late = new AbortController()
    const cancel = clock.after(limits.readyWithinMs, () => late.abort())
    const ready = await waitUntilReady(this.port, profile.readyPath, clock, AbortSignal.any([over, late.signal]))
    cancel()
    if (ready) this.#becomeReady()
    else if (!over.aborted) await this.#giveUp(engine)
  }

  /** Takes no new requests, lets the running ones finish, ends the engine. Resolves when the process is gone. */
  async stop(): Promise<void> {
    const { clock, limits } = this.#deps
    this.state = 'stopping'
    this.#stopped.abort()
    this.#deps.onChange()
    const idle = new AbortController()
    this.#onIdle = () => idle.abort()
    if (this.inFlight > 0) await sleep(clock, limits.drainMs, idle.signal)
    await this.#engine?.stop(limits.killAfterMs)
    this.#releasePort()
  }

  /** Counts one request; the returned function gives it back, once. */
  beginRequest(): () => void {
    this.inFlight += 1
    let open = true
    return () => {
      if (!open) return
      open = false
      this.inFlight -= 1
      if (this.inFlight === 0) this.#onIdle?.()
    }
  }

  #becomeReady(): void {
    if (this.state !== 'loading') return
    this.state = 'ready'
    this.#deps.log.info({ replica: this.key, port: this.port, pid: this.#engine?.pid }, 'replica ready')
    this.#deps.onChange()
  }

  async #giveUp(engine: EngineProcess): Promise<void> {
    const seconds = Math.round(this.#deps.limits.readyWithinMs / 1000)
    this.#fail(`The engine did not become ready within ${seconds} s.`)
    await engine.stop(this.#deps.limits.killAfterMs)
  }

  #fail(error: string): void {
    if (this.state === 'failed') return
    this.state = 'failed'
    this.error = error
    this.#deps.log.warn({ replica: this.key, error }, 'replica failed')
    this.#deps.onChange()
  }

  #releasePort(): void {
    if (this.port !== undefined) this.#deps.ports.release(this.port)
    this.port = undefined
  }
}
