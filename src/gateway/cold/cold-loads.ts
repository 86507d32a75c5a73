import type { LoadStatus } from '../../api/load-status.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { controlAway, loadFailed, noCapacity, stillLoading } from './load-errors.ts'
import { routeKey, type LiveTable } from '../table/routing-table.ts'
import { WantedModel } from './wanted-model.ts'

export interface ColdLoadsDeps {
  table: Pick<LiveTable, 'model' | 'routesOf' | 'onChange'>
  bus: Pick<Bus, 'request'>
  clock: Clock
  log: Logger
  /** How long a request waits for a model to be loaded; Infinity waits without limit. */
  waitMs: number
  /** How many requests may wait for one model; further ones get a 429. */
  mostWaiting: number
}

export interface WaitOptions {
  /** How long this request waits, if not for the default time. */
  budgetMs?: number
  /** Routes (`routeKey`) that have just failed. They are tried again only after a pause. */
  passed?: ReadonlySet<string>
  /** Called when the wait begins, with the status known so far, and for each answer of control. */
  onStatus?: (status: LoadStatus | undefined) => void
}

interface Waiter {
  passed: ReadonlySet<string>
  onStatus: (status: LoadStatus | undefined) => void
  /** Ends the wait, once; without an error there may now be a replica. */
  end: (error?: AppError) => void
}

/** One model that requests wait for, or waited for a moment ago. */
interface ColdLoad {
  readonly model: string
  readonly wanted: WantedModel
  readonly waiters: Set<Waiter>
  cancelForget: () => void
}

const NONE: ReadonlySet<string> = new Set()
/** How long failed replicas are not tried again: a worker that restarts and adopts its engines is back by then. */
const AGAIN_AFTER_MS = 2000
/**
 * How long a model is remembered after its last waiting request. Requests within that time get control's last answer, so
 * that many requests for a model that cannot be loaded do not become as many questions to control.
 */
const REMEMBERED_MS = 1000
/** A model stays wanted this much longer than the Retry-After of its clients. */
const GRACE_MS = 60_000
/** How long a refusal must last to be final: nodes may be coming back, and right after the start there are none yet. */
const REFUSED_FOR_MS = { usual: 3000, young: 10_000 }
const YOUNG_MS = 15_000

/**
 * Requests for models without a ready replica. One asker per model asks control to load it, however many requests wait; all
 * of them continue as soon as the routing table has a route. A client that goes away does not end the load: control ends
 * it when no gateway has asked for the model for a while.
 */
export class ColdLoads {
  readonly #deps: ColdLoadsDeps
  readonly #startedMs: number
  readonly #loads = new Map<string, ColdLoad>()
  readonly #stopLooking: () => void

  constructor(deps: ColdLoadsDeps) {
    this.#deps = deps
    this.#startedMs = deps.clock.nowMs()
    this.#stopLooking = deps.table.onChange(() => {
      for (const load of this.#loads.values()) this.#release(load)
    })
  }

  get waitMs(): number {
    return this.#deps.waitMs
  }

  /** Whether there is a replica that is not in `passed`. */
  isServable(model: string, passed = NONE): boolean {
    const routes = this.#deps.table.routesOf(model)
    return passed.size === 0 ? routes.length > 0 : routes.some((route) => !passed.has(routeKey(route)))
  }

  /**
   * Resolves when there is a route to the model, or the table no longer has the model at all. Rejects with an AppError
   * that says how far the load is, why it failed, or that the client has gone.
   */
  async wait(model: string, signal: AbortSignal, options: WaitOptions = {}): Promise<void> {
    const { budgetMs = this.#deps.waitMs, passed = NONE, onStatus = () => {} } = options
    if (signal.aborted) throw clientGone()
    if (this.#isOver(model, passed)) return
    const load = this.#loads.get(model) ?? this.#begin(model)
    const problem = this.#problemOf(load)
    if (problem) throw problem
    if (load.waiters.size >= Math.max(1, this.#deps.mostWaiting)) throw tooMany(model, load.waiters.size)
    await this.#stay(load, signal, { budgetMs, passed, onStatus })
  }

  countOf(model: string): number {
    return this.#loads.get(model)?.waiters.size ?? 0
  }

  /** Ends all waits and asks control no more. */
  dispose(): void {
    this.#stopLooking()
    for (const load of this.#loads.values()) {
      for (const waiter of load.waiters) waiter.end(new AppError('unavailable', 'This gateway is stopping. Try again.'))
      load.cancelForget()
    }
    this.#loads.clear()
  }

  #isOver(model: string, passed: ReadonlySet<string>): boolean {
    return this.#deps.table.model(model) === undefined || this.isServable(model, passed)
  }

  #begin(model: string): ColdLoad {
    const { bus, clock } = this.#deps
    const wanted = new WantedModel(model, { bus, clock, onAnswer: () => this.#onAnswer(load) })
    const load: ColdLoad = { model, wanted, waiters: new Set(), cancelForget: () => {} }
    this.#loads.set(model, load)
    return load
  }

  #stay(load: ColdLoad, signal: AbortSignal, options: Required<WaitOptions>): Promise<void> {
    const { clock } = this.#deps
    const { budgetMs, onStatus } = options
    return new Promise((resolve, reject) => {
      const onGone = (): void => waiter.end(clientGone())
      const end = (error?: AppError): void => {
        if (!load.waiters.delete(waiter)) return
        for (const cancel of cancels) cancel()
        signal.removeEventListener('abort', onGone)
        if (load.waiters.size === 0) this.#forgetSoon(load)
        if (error) reject(error)
        else resolve()
      }
      const waiter: Waiter = { passed: options.passed, onStatus, end }
      const cancels: (() => void)[] = []
      if (budgetMs < Infinity) cancels.push(clock.after(budgetMs, () => waiter.end(this.#lateFor(load))))
      if (options.passed.size > 0) {
        const forgive = (): void => {
          waiter.passed = NONE
          this.#release(load)
        }
        cancels.push(clock.after(AGAIN_AFTER_MS, forgive))
      }
      signal.addEventListener('abort', onGone, { once: true })
      load.waiters.add(waiter)
      load.cancelForget()
      onStatus(load.wanted.status)
      load.wanted.start()
    })
  }

  /** Ends the waits of requests whose model now has a replica. */
  #release({ model, waiters }: ColdLoad): void {
    for (const waiter of waiters) if (this.#isOver(model, waiter.passed)) waiter.end()
  }

  #onAnswer(load: ColdLoad): void {
    const { model, wanted, waiters } = load
    if (wanted.silence !== undefined) {
      const { log } = this.#deps
      log.debug({ model, error: wanted.silence }, 'gateway: control does not answer a request to load a model')
    } else for (const { onStatus } of waiters) onStatus(wanted.status)
    const problem = this.#problemOf(load)
    if (problem) for (const waiter of waiters) waiter.end(problem)
  }

  /** Why waiting is useless, if control says so. */
  #problemOf(load: ColdLoad): AppError | undefined {
    const { model, wanted } = load
    const { status, silence, refusedSinceMs } = wanted
    if (!status || silence !== undefined) return undefined
    const nowMs = this.#deps.clock.nowMs()
    if (status.state === 'failed') return this.#told(load, loadFailed(model, status, nowMs))
    const isYoung = nowMs - this.#startedMs < YOUNG_MS
    const patienceMs = isYoung ? REFUSED_FOR_MS.young : REFUSED_FOR_MS.usual
    if (refusedSinceMs === undefined || nowMs - refusedSinceMs < patienceMs) return undefined
    return this.#told(load, noCapacity(model, status, nowMs))
  }

  /** The error for a request whose time is up; undefined when there is a replica after all. */
  #lateFor(load: ColdLoad): AppError | undefined {
    const { model, wanted } = load
    if (this.isServable(model)) return undefined
    const { waitMs, clock } = this.#deps
    const { status, silence } = wanted
    if (silence !== undefined) return this.#told(load, controlAway(model, silence, waitMs))
    if (status?.state === 'refused') return this.#told(load, noCapacity(model, status, clock.nowMs()))
    return this.#told(load, stillLoading(model, status, waitMs))
  }

  #told(load: ColdLoad, error: AppError): AppError {
    load.wanted.keepFor((error.retryAfterS ?? 0) * 1000 + GRACE_MS)
    return error
  }

  #forgetSoon(load: ColdLoad): void {
    load.wanted.stop()
    load.cancelForget = this.#deps.clock.after(REMEMBERED_MS, () => {
      this.#loads.delete(load.model)
      // Once there is a replica, the rules and its use decide how long it stays.
      if (!this.isServable(load.model)) void load.wanted.sayLast()
    })
  }
}

function clientGone(): AppError {
  return new AppError('client_gone', 'The client went away before its model was loaded.')
}

function tooMany(model: string, waiting: number): AppError {
  const text = `Model "${model}" is being loaded, and ${waiting} requests wait for it, which is the limit. Try again in a moment.`
  return new AppError('busy', text, { retryAfterS: 5, details: { param: 'model' } })
}
