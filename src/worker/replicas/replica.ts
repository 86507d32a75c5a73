import type {
  EngineExitMessage,
  ProgressMessage,
  ReplicaStartMessage,
  ReportedReplicaMessage,
} from '../../api/bus/messages.ts'
import type { EngineProfile } from '../../api/engine-profile.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import { sleep } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { describeExit } from './describe-exit.ts'
import type { JournalEntry } from './journal.ts'
import { launch, type Launched, type ReplicaDeps } from './launch.ts'
import { memoryComplaint, whyOutOfMemory } from '../memory/out-of-memory.ts'
import { PeakMemory, type MeasuredMemory } from '../memory/peak-memory.ts'
import type { EngineProcess, Exit } from '../processes/engine-process.ts'
import { realProcesses, type Processes } from '../processes/processes.ts'
import { stillAnswers, waitUntilReady } from './readiness.ts'

/** The minimum interval of heartbeats that only report progress. */
const TELL_PROGRESS_MS = 1000
const LAST_LINES = 20
/** Even a forced stop gives the engine time to clean up: what it leaves in shared memory stays there. */
const FORCED_KILL_MS = 2000
const STARTING: ReadonlySet<string> = new Set(['installing', 'staging', 'loading'])

/**
 * One replica on this node.
 *
 *   installing ──▶ staging ──▶ loading ──▶ ready ──▶ draining ──▶ stopping ──▶ (gone)
 *        └────────────┴───────────┴──────────┴─▶ failed (no process any more; kept so that heartbeats tell why, until
 *                                                        it is stopped)
 *
 * Phases without work are skipped; a replica without requests is stopped without draining.
 */
export class WorkerReplica {
  readonly spec: ReplicaStartMessage
  readonly key: string
  state: ReportedReplicaMessage['state'] = 'installing'
  error: string | undefined
  /** It failed for lack of memory. */
  outOfMemory = false
  exit: EngineExitMessage | null = null
  progress: ProgressMessage | null = null
  inFlight = 0
  port: number | undefined
  /** The name by which the engine knows the model, when it is not the model's own. */
  requestModel: string | undefined

  readonly #deps: ReplicaDeps
  readonly #processes: Processes
  readonly #profile: EngineProfile
  readonly #ending = new AbortController()
  readonly #cutDrain = new AbortController()
  readonly #peak = new PeakMemory()
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #launched: Launched | undefined
  #released: Promise<void> | undefined
  #isForced = false
  #toldProgressMs = 0
  #lastRequestEndedMs: number | undefined
  #killsBefore: number | undefined
  #enteredMs: number | undefined

  constructor(spec: ReplicaStartMessage, profile: EngineProfile, deps: ReplicaDeps) {
    this.spec = spec
    this.key = replicaKey(spec.model_name, spec.replica_index)
    this.#profile = profile
    this.#deps = deps
    this.#processes = deps.processes ?? realProcesses
  }

  /** Gets what it needs, starts the engine and waits until it is ready. Ends in `ready` or `failed`; never rejects. */
  start(): Promise<void> {
    this.#starting ??= this.#begin(async () => {
      this.#enteredMs = this.#deps.clock.nowMs()
      const launched = await launch(this.spec, this.#profile, this.#deps, {
        signal: this.#ending.signal,
        onPhase: (phase) => this.#enter(phase),
        onProgress: (progress) => this.#tellProgress(progress),
      })
      await this.#run(launched, false)
    })
    return this.#starting
  }

  /** Adopts an engine that an earlier run of the worker started. */
  adopt(entry: JournalEntry, adopted: Launched): Promise<void> {
    this.state = 'loading'
    this.#starting ??= this.#begin(() => this.#run(adopted, entry.was_ready))
    return this.#starting
  }

  /** Refuses new requests, lets the running ones finish, ends the engine. Resolves when the process is gone. */
  stop({ force }: { force: boolean }): Promise<void> {
    if (force) this.#hurry()
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** Whether its engine answers its health check; undefined when it has none. */
  async answers(): Promise<boolean | undefined> {
    return this.#launched && stillAnswers(this.#launched.awaited, this.#processes)
  }

  /** Fails the replica, and ends its hopeless engine without much patience. */
  async abandon(why: string): Promise<void> {
    if (this.state !== 'ready' || this.isEnding || !this.#launched) return
    this.#isForced = true
    await this.#giveUp(this.#launched.engine, why)
  }

  /** The engine's process, while there is one. */
  get pid(): number | undefined {
    return this.port === undefined ? undefined : this.#launched?.engine.identity.pid
  }

  /** The most that its engine was seen to hold; null until the first look. */
  get memory(): MeasuredMemory | null {
    return this.#peak.value
  }

  noteMemory(look: MeasuredMemory): boolean {
    return this.#peak.add(look)
  }

  get mayUseDevices(): boolean {
    return this.#profile.uses.device !== 'cpu' && this.spec.devices?.length !== 0
  }

  /** The time since its last request ended; null when it never had one. */
  get idleMs(): number | null {
    if (this.inFlight > 0) return 0
    const endedMs = this.#lastRequestEndedMs
    return endedMs === undefined ? null : Math.max(0, Math.round(this.#deps.clock.nowMs() - endedMs))
  }

  get isEnding(): boolean {
    return this.#stopping !== undefined
  }

  /** Counts one request. The returned function ends it; further calls do nothing. */
  beginRequest(): () => void {
    this.inFlight += 1
    let open = true
    return () => {
      if (!open) return
      open = false
      this.inFlight -= 1
      this.#lastRequestEndedMs = this.#deps.clock.nowMs()
      if (this.inFlight === 0 && this.isEnding) this.#cutDrain.abort()
    }
  }

  async #begin(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      // A cancelled start is not a failure.
      if (!this.isEnding) {
        const text = startProblem(error)
        this.#fail(text, memoryComplaint(text) !== undefined)
      }
      await this.#end(this.#launched?.engine)
    }
  }

  #hurry(): void {
    this.#isForced = true
    this.#cutDrain.abort()
    // It may be stopping already, with more patience.
    if (this.isEnding) void this.#end(this.#launched?.engine)
  }

  async #run(launched: Launched, wasReady: boolean): Promise<void> {
    const { clock, log } = this.#deps
    const { engine, awaited } = launched
    this.#launched = launched
    this.port = launched.port
    this.requestModel = launched.requestModel
    this.#killsBefore = this.#processes.kernelKills()
    const ended = new AbortController()
    void engine.exited.then((exit) => {
      ended.abort()
      this.#onExit(exit)
    })
    // A leftover process of the engine may still have the port; the port is released only when that is gone, too.
    this.#released = engine.exited.then(() => this.#end(engine)).then(() => launched.release())
    const signal = AbortSignal.any([ended.signal, this.#ending.signal])
    const readiness = wasReady ? ({ ready: true } as const) : await waitUntilReady(awaited, clock, signal)
    if (!readiness || signal.aborted) return
    if (readiness.ready) {
      launched.markReady()
      this.#enter('ready')
      log.info({ replica: this.key, port: this.port, pid: engine.identity.pid }, 'replica ready')
    } else await this.#giveUp(engine, readiness.why)
  }

  async #stop(): Promise<void> {
    const { clock, limits } = this.#deps
    const isServing = this.state === 'ready' && this.inFlight > 0
    if (this.state !== 'failed') this.#enter(isServing ? 'draining' : 'stopping')
    this.#ending.abort()
    if (isServing) await sleep(clock, limits.drainMs, this.#cutDrain.signal)
    if (this.state === 'draining') this.#enter('stopping')
    // A running start may have made a process since.
    await this.#starting
    await this.#end(this.#launched?.engine)
    await this.#released
  }

  async #giveUp(engine: EngineProcess, why: string): Promise<void> {
    const lines = this.#deps.logs.lastLines(this.key, LAST_LINES)
    const failure = lines.length === 0 ? why : `${why} Its last lines:\n${lines.join('\n')}`
    this.exit = { code: null, signal: null, last_lines: lines }
    const memoryLine = this.#launched?.memoryLine()
    this.#failOf(failure, whyOutOfMemory({ code: null, signal: null, memoryLine, hasKernelKilled: undefined }))
    await this.#end(engine)
  }

  async #end(engine: EngineProcess | undefined): Promise<void> {
    const { signal, kill_after_s: seconds } = this.#profile.stop
    const killAfterMs = seconds * 1000
    await engine?.stop({ signal, killAfterMs: this.#isForced ? Math.min(FORCED_KILL_MS, killAfterMs) : killAfterMs })
  }

  #onExit(exit: Exit): void {
    this.port = undefined
    const { code, signal, lastLines } = exit
    if (this.isEnding || this.state === 'failed') return
    this.exit = { code, signal, last_lines: lastLines }
    const kills = this.#processes.kernelKills()
    const hasKernelKilled =
      kills === undefined || this.#killsBefore === undefined ? undefined : kills > this.#killsBefore
    const memoryLine = this.#launched?.memoryLine()
    this.#failOf(describeExit(exit, hasKernelKilled), whyOutOfMemory({ code, signal, memoryLine, hasKernelKilled }))
  }

  #failOf(error: string, outOfMemory: string | undefined): void {
    this.#fail(outOfMemory === undefined ? error : `${outOfMemory}\n${error}`, outOfMemory !== undefined)
  }

  #fail(error: string, outOfMemory: boolean): void {
    if (this.state === 'failed') return
    this.error = error
    this.outOfMemory = outOfMemory
    this.#enter('failed')
    this.#deps.log.warn({ replica: this.key, error }, 'replica failed')
  }

  #enter(state: WorkerReplica['state']): void {
    if (this.state === state) return
    this.#tellPhase()
    this.state = state
    this.progress = null
    this.#deps.onChange()
  }

  /** Only for a start that this run of the worker has seen from its beginning. */
  #tellPhase(): void {
    const { clock, onPhase } = this.#deps
    const isStart = STARTING.has(this.state)
    if (this.#enteredMs === undefined || !isStart) return
    const nowMs = clock.nowMs()
    onPhase?.(this.spec.model_name, this.state, (nowMs - this.#enteredMs) / 1000)
    this.#enteredMs = nowMs
  }

  #tellProgress(progress: ProgressMessage): void {
    this.progress = progress
    const nowMs = this.#deps.clock.nowMs()
    if (nowMs - this.#toldProgressMs < TELL_PROGRESS_MS) return
    this.#toldProgressMs = nowMs
    this.#deps.onChange()
  }
}

/** Also explains errors of the operating system about our files and folders. */
function startProblem(error: unknown): string {
  const { syscall, path } = error as NodeJS.ErrnoException
  if (error instanceof AppError || syscall === undefined) return messageOf(error)
  return `${path === undefined ? 'A file of the worker could not be used' : `Cannot use ${path}`}: ${fileProblem(error)}.`
}
