import type { Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import { LeaseLostError } from '../../store/nouns/leases.ts'
import type { Condition, Conditions } from './conditions.ts'

/** A single failure is over before a person could read of it. */
const FAILING_FOR_MS = 1000
const LEAST_FAILURES = 2
/** A failover makes one leader lose its lease once. More often within this time, its turns are too slow. */
const UNSTEADY = { losses: 3, withinMs: 2 * 60_000 }

/** Detects a store that cannot be written or is too slow: turns fail, or lose the lease again and again. */
export class StoreWatch {
  readonly #conditions: Pick<Conditions, 'look'>
  readonly #clock: Pick<Clock, 'nowMs'>
  #failures = 0
  #failingSinceMs = 0
  /** When turns lost the lease. */
  #lossesMs: number[] = []

  constructor(conditions: Pick<Conditions, 'look'>, clock: Pick<Clock, 'nowMs'>) {
    this.#conditions = conditions
    this.#clock = clock
  }

  turnFailed(error: unknown): void {
    const nowMs = this.#clock.nowMs()
    if (error instanceof LeaseLostError) {
      this.#lossesMs = [...this.#lossesMs, nowMs].slice(-UNSTEADY.losses)
      return this.#lookAtLease(nowMs)
    }
    if (this.#failures === 0) this.#failingSinceMs = nowMs
    this.#failures += 1
    if (this.#failures < LEAST_FAILURES || nowMs - this.#failingSinceMs < FAILING_FOR_MS) return
    this.#conditions.look('turns', failing(error))
  }

  /** A turn has succeeded. */
  turnEnded(): void {
    const nowMs = this.#clock.nowMs()
    this.#failures = 0
    this.#conditions.look('turns', undefined)
    this.#lookAtLease(nowMs)
  }

  #lookAtLease(nowMs: number): void {
    this.#lossesMs = this.#lossesMs.filter((atMs) => Math.abs(nowMs - atMs) <= UNSTEADY.withinMs)
    this.#conditions.look('lease', this.#lossesMs.length < UNSTEADY.losses ? undefined : UNSTEADY_LEASE)
  }
}

const UNSTEADY_LEASE: Condition = {
  kind: 'store',
  severity: 'error',
  text: 'This frontend loses the lead again and again, because its turns take longer than the lease: replicas are placed late or not at all.',
  advice:
    'Look at how fast the store answers (flotilla_turn_duration_seconds) and at the network between it and the frontends.',
}

function failing(error: unknown): Condition {
  const isStore = error instanceof AppError && error.code !== 'internal'
  const text = `Control can place, replace and stop nothing: ${messageOf(error)}`
  if (!isStore) return { kind: 'process', severity: 'error', text, advice: 'The log of the frontend has the cause.' }
  const isFull = /disk is full|No space left/.test(text)
  const advice = isFull
    ? 'Make room on that disk. Flotilla goes on by itself.'
    : 'Look at the store: flotilla db check, and the log of the frontend. Flotilla goes on by itself.'
  return { kind: 'store', severity: 'error', text, advice }
}
