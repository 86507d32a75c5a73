import type { LoadStatus } from '../src/api/load-status.ts'
import type { LiveTable } from '../src/gateway/routing-table.ts'
import type { EventQueue } from './event-queue.ts'
import type { Unserved } from './ground.ts'
import { LOAD_WAIT_MS, WANTED_MS, WANTED_PERIOD_MS } from './limits.ts'

export interface ColdLoadsDeps {
  queue: EventQueue
  table: LiveTable
  /** Over the bus, to whoever leads; there may be no answer. */
  askWanted: (modelName: string, wantedMs: number, reply: (status: LoadStatus) => void) => void
  onUnserved: (unserved: Unserved) => void
}

export interface Waiter {
  untilMs: number
  /** Replicas that just did not serve: others are better, and they themselves only after a pause. */
  passed: ReadonlySet<string>
  /** There is something to ask, or the model is gone. */
  onRoute: () => void
  onUnserved: () => void
}

interface ColdLoad {
  waiters: Set<Waiter & { sinceMs: number }>
  isAsking: boolean
  askedMs: number
  status: LoadStatus | undefined
  refusedSinceMs: number | undefined
}

const ANSWER_WITHIN_MS = 5000
const AGAIN_AFTER_MS = 2000
/** Of who was told to come back: when, and how much longer it is waited for. */
const RETRY_AFTER_MS = 30_000
const GRACE_MS = 60_000
const REFUSED_FOR_MS = 3000

/** As src/gateway/cold-loads.ts and wanted-model.ts: one asker for each model, however many wait. */
export class SimColdLoads {
  readonly #deps: ColdLoadsDeps
  readonly #loads = new Map<string, ColdLoad>()

  constructor(deps: ColdLoadsDeps) {
    this.#deps = deps
  }

  /** Returns how to go away; that is false when its wait was over. */
  wait(modelName: string, asked: Waiter): () => boolean {
    const { queue } = this.#deps
    const load = this.#loads.get(modelName) ?? this.#begin(modelName)
    // What was said to those who are gone is not held against who comes now.
    if (load.waiters.size === 0) Object.assign(load, { status: undefined, refusedSinceMs: undefined })
    const waiter = { ...asked, sinceMs: queue.nowMs }
    load.waiters.add(waiter)
    queue.after(0, () => this.#release(modelName, load))
    queue.after(waiter.untilMs - queue.nowMs, () => this.#late(modelName, load, waiter))
    if (waiter.passed.size > 0) {
      queue.after(AGAIN_AFTER_MS, () => {
        waiter.passed = new Set()
        this.#release(modelName, load)
      })
    }
    this.#askInTime(modelName, load)
    return () => load.waiters.delete(waiter)
  }

  /** The table has changed. */
  look(): void {
    for (const [modelName, load] of this.#loads) this.#release(modelName, load)
  }

  #begin(modelName: string): ColdLoad {
    const load = {
      waiters: new Set<never>(),
      isAsking: false,
      askedMs: 0,
      status: undefined,
      refusedSinceMs: undefined,
    }
    this.#loads.set(modelName, load)
    return load
  }

  #askInTime(modelName: string, load: ColdLoad): void {
    const { queue } = this.#deps
    if (load.waiters.size === 0 || load.isAsking) return
    load.isAsking = true
    queue.after(Math.max(0, load.askedMs + WANTED_PERIOD_MS - queue.nowMs), () => {
      load.askedMs = queue.nowMs
      let isOpen = true
      const close = (status?: LoadStatus): void => {
        if (!isOpen) return
        isOpen = false
        load.isAsking = false
        if (status) this.#hear(load, modelName, status)
        this.#askInTime(modelName, load)
      }
      if (load.waiters.size === 0) return close()
      this.#deps.askWanted(modelName, WANTED_MS, close)
      queue.after(ANSWER_WITHIN_MS, () => close())
    })
  }

  #hear(load: ColdLoad, modelName: string, status: LoadStatus): void {
    const { nowMs } = this.#deps.queue
    load.status = status
    load.refusedSinceMs = status.state === 'refused' ? (load.refusedSinceMs ?? nowMs) : undefined
    if (status.state === 'failed') return this.#endAll(load, modelName, 'failed')
    if (load.refusedSinceMs !== undefined && nowMs - load.refusedSinceMs >= REFUSED_FOR_MS) {
      this.#endAll(load, modelName, 'refused')
    }
  }

  #release(modelName: string, { waiters }: ColdLoad): void {
    const { table } = this.#deps
    const isGone = table.model(modelName) === undefined
    const routes = table.routesOf(modelName)
    for (const waiter of waiters) {
      if (!isGone && !routes.some(({ replicaId }) => !waiter.passed.has(replicaId))) continue
      waiters.delete(waiter)
      waiter.onRoute()
    }
  }

  #late(modelName: string, load: ColdLoad, waiter: Waiter & { sinceMs: number }): void {
    if (load.waiters.has(waiter)) this.#end(modelName, load, waiter, 'late')
    // Who was told to come back is still waited for.
    if (load.waiters.size === 0) this.#deps.askWanted(modelName, LOAD_WAIT_MS + GRACE_MS, () => {})
  }

  #endAll(load: ColdLoad, modelName: string, why: Unserved['why']): void {
    const hadWaiters = load.waiters.size > 0
    for (const waiter of load.waiters) this.#end(modelName, load, waiter, why)
    if (hadWaiters) this.#deps.askWanted(modelName, RETRY_AFTER_MS + GRACE_MS, () => {})
  }

  #end(modelName: string, load: ColdLoad, waiter: Waiter & { sinceMs: number }, why: Unserved['why']): void {
    const { status } = load
    load.waiters.delete(waiter)
    const reason = status?.reason ?? (status?.loading ? `it is ${status.loading.state}` : undefined)
    this.#deps.onUnserved({ modelName, sinceMs: waiter.sinceMs, why, reason })
    waiter.onUnserved()
  }
}
