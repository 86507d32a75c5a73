import type { Clock } from '../../platform/run/clock.ts'
import type { Database } from '../../store/sql.ts'
import { pruneEvents } from '../../store/nouns/events.ts'
import { pruneFrontends } from '../../store/nouns/frontends.ts'
import { checkLease, type HeldLease } from '../../store/nouns/leases.ts'
import { pruneModelRows } from '../../store/nouns/prune-models.ts'

/** Events are for people, who rarely look back further than a month. */
const EVENTS_KEPT = { most: 10_000, maxAgeMs: 30 * 86_400_000 }
const PERIOD_MS = 5 * 60_000

/** Deletes what the store need not keep: old events, rows of models that are gone, frontends that are gone for long. */
export class Pruning {
  readonly #db: Database
  readonly #clock: Clock
  #atMs = 0

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Does nothing when the last run was a short while ago. */
  async run(lease: HeldLease): Promise<void> {
    if (this.#clock.nowMs() < this.#atMs) return
    this.#atMs = this.#clock.nowMs() + PERIOD_MS
    await this.#db.transaction(async (tx) => {
      await checkLease(tx, lease)
      await pruneEvents(tx, EVENTS_KEPT)
      await pruneModelRows(tx)
      await pruneFrontends(tx)
    })
  }
}
