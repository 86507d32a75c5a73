import type { ProgressMessage, ReportedEngineMessage } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'

type OperationMessage = NonNullable<ReportedEngineMessage['operation']>

/** A running or finished operation on an engine. */
export interface Operation {
  readonly engine: string
  /** As heartbeats report it; changes while the operation runs. */
  readonly message: OperationMessage
  /** Never rejects. */
  readonly finished: Promise<void>
  cancel(): void
}

export interface Step {
  signal: AbortSignal
  onProgress: (progress: ProgressMessage) => void
  onStopped: (keys: readonly string[]) => void
}

/** How many command ids are remembered, so that a command that arrives twice is carried out once. */
const MOST_REMEMBERED = 1000
const MOST_WAITING = 16
/** The interval of byte progress; each report may cause a heartbeat. */
const PROGRESS_MS = 1000

/** Operations on the engines of a node: one after another on the same engine, in parallel on different ones. */
export class Operations {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #onChange: () => void
  readonly #byId = new Map<string, Operation>()
  readonly #latest = new Map<string, Operation>()
  readonly #waiting = new Map<string, Operation[]>()
  readonly #disposed = new AbortController()

  constructor(clock: Clock, log: Logger, onChange: () => void) {
    this.#clock = clock
    this.#log = log
    this.#onChange = onChange
  }

  find(id: string): Operation | undefined {
    return this.#byId.get(id)
  }

  /** The engines with a running operation. */
  busyEngines(): string[] {
    return [...this.#waiting.keys()]
  }

  /** The running operation, else the last one. */
  of(engine: string): Operation | undefined {
    return this.#waiting.get(engine)?.[0] ?? this.#latest.get(engine)
  }

  /** The last operation in an engine's queue: when it has finished, the engine is idle. */
  last(engine: string): Operation | undefined {
    return this.#waiting.get(engine)?.at(-1)
  }

  start(engine: string, kind: OperationMessage['kind'], id: string, work: (step: Step) => Promise<void>): Operation {
    if (this.#disposed.signal.aborted) throw new AppError('unavailable', 'The worker is stopping.')
    const queue = this.#waiting.get(engine) ?? []
    if (queue.length >= MOST_WAITING) {
      throw new AppError('busy', `${MOST_WAITING} operations on the engine "${engine}" are waiting. Try again later.`)
    }
    const message: OperationMessage = { id, kind, state: 'running', error: null, stopped: [], progress: null }
    const cancelled = new AbortController()
    const signal = AbortSignal.any([cancelled.signal, this.#disposed.signal])
    const operation = {
      engine,
      message,
      cancel: () => cancelled.abort(new AppError('unavailable', 'It was cancelled.')),
      finished: Promise.resolve(),
    }
    operation.finished = this.#runAfter(queue.at(-1)?.finished, operation, work, signal)
    this.#waiting.set(engine, [...queue, operation])
    this.#remember(id, operation)
    this.#onChange()
    return operation
  }

  /** Cancels running operations and waits for their end. */
  async dispose(): Promise<void> {
    this.#disposed.abort(new AppError('unavailable', 'The worker stopped in the middle of it.'))
    await Promise.all([...this.#waiting.values()].flat().map(({ finished }) => finished))
  }

  async #runAfter(
    before: Promise<void> | undefined,
    operation: Operation,
    work: (step: Step) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await before
    await this.#run(operation, work, signal)
    this.#end(operation)
  }

  async #run({ engine, message }: Operation, work: (step: Step) => Promise<void>, signal: AbortSignal): Promise<void> {
    const what = { engine, operation: message.kind, id: message.id }
    let toldMs = -Infinity
    const onProgress = (progress: ProgressMessage): void => {
      message.progress = progress
      if (this.#clock.nowMs() - toldMs < PROGRESS_MS) return
      toldMs = this.#clock.nowMs()
      this.#onChange()
    }
    const onStopped = (keys: readonly string[]): void => void (message.stopped = [...keys])
    try {
      signal.throwIfAborted()
      await work({ signal, onProgress, onStopped })
      message.state = 'done'
      this.#log.info(what, 'engine operation done')
    } catch (error) {
      message.state = 'failed'
      message.error = messageOf(signal.aborted ? signal.reason : error)
      this.#log.warn({ ...what, error: message.error }, 'engine operation failed')
    }
    message.progress = null
  }

  #end(operation: Operation): void {
    const { engine } = operation
    const left = (this.#waiting.get(engine) ?? []).filter((other) => other !== operation)
    if (left.length === 0) this.#waiting.delete(engine)
    else this.#waiting.set(engine, left)
    this.#latest.set(engine, operation)
    this.#onChange()
  }

  #remember(id: string, operation: Operation): void {
    this.#byId.set(id, operation)
    const [oldest] = this.#byId.keys()
    if (this.#byId.size > MOST_REMEMBERED && oldest !== undefined) this.#byId.delete(oldest)
  }
}
