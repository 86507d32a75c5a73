import type { Bus } from '../../bus/bus.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { Database } from '../../store/sql.ts'
import { queryAmong } from '../../store/query-among.ts'

/** How often a node is told that it is unknown; people are told once a minute. */
const ASKED_EVERY_MS = 5000
const TOLD_EVERY_MS = 60_000
const MOST_KNOWN = 5000

export interface UnknownNodesDeps {
  db: Database
  bus: Pick<Bus, 'publish'>
  clock: Clock
  log: Logger
  clusterId: string
}

/**
 * Nodes that send heartbeats and have no row: the store is older than they are, or they were removed and missed the message.
 * Each is told to ask a frontend, whose answer says which of the two holds.
 */
export class UnknownNodes {
  readonly #deps: UnknownNodesDeps
  /** When each was told last; the one told longest ago comes first. */
  readonly #toldMs = new Map<string, number>()
  #loggedMs = Number.NEGATIVE_INFINITY

  constructor(deps: UnknownNodesDeps) {
    this.#deps = deps
  }

  /** Checks whether these nodes, whose heartbeats were not taken, have rows. */
  async look(nodeIds: readonly string[]): Promise<void> {
    const { db, bus, clock, log, clusterId } = this.#deps
    const nowMs = clock.nowMs()
    const due = nodeIds.filter((id) => nowMs - (this.#toldMs.get(id) ?? -Infinity) >= ASKED_EVERY_MS)
    if (due.length === 0) return
    for (const id of due) {
      this.#toldMs.delete(id)
      this.#toldMs.set(id, nowMs)
    }
    while (this.#toldMs.size > MOST_KNOWN) this.#toldMs.delete(this.#toldMs.keys().next().value!)
    const rows = (await queryAmong(db, 'id', due, (where) => `select id from nodes ${where}`)) as { id: string }[]
    const known = new Set(rows.map(({ id }) => id))
    const unknown = due.filter((id) => !known.has(id))
    for (const id of unknown) bus.publish('nodeUnknown', { cluster_id: clusterId }, id)
    if (unknown.length === 0 || nowMs - this.#loggedMs < TOLD_EVERY_MS) return
    this.#loggedMs = nowMs
    log.warn(
      { nodes: unknown.slice(0, 10), count: unknown.length },
      'control: told nodes that the store does not know to register again',
    )
  }
}
