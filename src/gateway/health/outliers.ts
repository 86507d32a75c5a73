import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import { RouteNotes } from './per-route.ts'
import type { LiveRoute, LiveTable } from '../table/routing-table.ts'

interface Outlier {
  /** Failures in a row. */
  failures: number
  outUntilMs: number
  /** How long it was ejected the last time; 0 when it never was. */
  outForMs: number
  why: string
}

export interface OutlierDeps {
  table: Pick<LiveTable, 'route'>
  clock: Pick<Clock, 'nowMs'>
  log: Logger
  /** Called for each replica that is ejected. */
  onEjected?: ((route: LiveRoute) => void) | undefined
}

const FAILURES_UNTIL_OUT = 3
const FIRST_OUT_MS = 5000
const MOST_OUT_MS = 60_000

/**
 * Ejected replicas. After three failures in a row a replica is out for 5 s, and each failure after that doubles the time, up
 * to 60 s. A replica that its node does not know, or knows with another generation, is out for 60 s at once, unless the
 * table gives it a new route. One success, even of a probe during the ejection, clears all of that.
 */
export class Outliers {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #log: Logger
  readonly #lines: RepeatedLines
  readonly #onEjected: OutlierDeps['onEjected']
  readonly #notes: RouteNotes<Outlier>

  constructor({ table, clock, log, onEjected }: OutlierDeps) {
    this.#onEjected = onEjected
    this.#clock = clock
    this.#log = log
    this.#lines = new RepeatedLines(clock)
    this.#notes = new RouteNotes(table)
  }

  whyOut(route: LiveRoute): string | undefined {
    if (this.#notes.isEmpty) return undefined
    const outlier = this.#notes.get(route)
    return outlier && outlier.outUntilMs > this.#clock.nowMs() ? outlier.why : undefined
  }

  failed(route: LiveRoute, why: string): void {
    const nowMs = this.#clock.nowMs()
    const { failures, outUntilMs, outForMs } = this.#notes.get(route) ?? { failures: 0, outUntilMs: 0, outForMs: 0 }
    // Requests that were under way at the ejection may all fail at once; they do not count.
    if (outUntilMs > nowMs) return
    const outlier = { failures: failures + 1, outUntilMs: 0, outForMs, why: '' }
    if (outlier.failures >= FAILURES_UNTIL_OUT) {
      outlier.outForMs = outForMs === 0 ? FIRST_OUT_MS : Math.min(2 * outForMs, MOST_OUT_MS)
      this.#leaveOut(route, outlier, `${outlier.failures} failures in a row, the last: ${why}`)
    }
    this.#notes.set(route, outlier)
  }

  misdirected(route: LiveRoute, why: string): void {
    if (this.whyOut(route) !== undefined) return
    const outlier = { failures: FAILURES_UNTIL_OUT, outUntilMs: 0, outForMs: MOST_OUT_MS, why: '' }
    this.#leaveOut(route, outlier, why)
    this.#notes.set(route, outlier)
  }

  succeeded(route: LiveRoute): void {
    if (!this.#notes.isEmpty && this.#notes.get(route)) this.#notes.delete(route)
  }

  #leaveOut(route: LiveRoute, outlier: Outlier, why: string): void {
    const { replicaId, nodeName } = route
    outlier.outUntilMs = this.#clock.nowMs() + outlier.outForMs
    outlier.why = `ejected: ${why}`
    const ids = { replica: replicaId, node: nodeName }
    this.#lines.tell(`${replicaId} ${why}`, (repeated) => {
      this.#log.warn({ ...ids, forMs: outlier.outForMs, why, ...repeated }, 'gateway: a replica is ejected')
    })
    this.#onEjected?.(route)
  }
}
