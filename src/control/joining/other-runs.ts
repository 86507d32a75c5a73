import type { Bus } from '../../bus/bus.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { Database } from '../../store/sql.ts'
import { queryAmong } from '../../store/query-among.ts'
import type { HeartbeatFrom } from '../heartbeats/take.ts'

/** How often a node is told that one of its runs does not count; people are told once a minute. */
const ASKED_EVERY_MS = 5000
const TOLD_EVERY_MS = 60_000
const MOST_KNOWN = 5000

export interface OtherRunsDeps {
  db: Database
  bus: Pick<Bus, 'publish'>
  clock: Clock
  log: Logger
  clusterId: string
}

/**
 * Heartbeats of a run that is not the registered one of its node: a second process with the same key registered while the
 * first was cut off, or the other way round. The node is told to ask a frontend, which refuses one of them as the second.
 */
export class OtherRuns {
  readonly #deps: OtherRunsDeps
  /** The one looked at longest ago comes first. */
  readonly #seen = new Map<string, { askedMs: number; toldMs: number }>()

  constructor(deps: OtherRunsDeps) {
    this.#deps = deps
  }

  /** Looks at heartbeats that were not taken. */
  async look(ignored: readonly HeartbeatFrom[]): Promise<void> {
    const { db, bus, clock, log, clusterId } = this.#deps
    const nowMs = clock.nowMs()
    const due = new Map(
      ignored.flatMap(({ nodeId, heartbeat: { run_id: run } }) =>
        run !== undefined && nowMs - (this.#seen.get(nodeId)?.askedMs ?? -Infinity) >= ASKED_EVERY_MS
          ? [[nodeId, run] as const]
          : [],
      ),
    )
    if (due.size === 0) return
    const select = (where: string): string => `select id, name, address, run_id from nodes ${where}`
    const rows = (await queryAmong(db, 'id', [...due.keys()], select)) as unknown as Row[]
    for (const { id, name, address, run_id: first } of rows) {
      const run = due.get(id)
      if (first === null || first === run) continue
      const toldMs = this.#seen.get(id)?.toldMs ?? -Infinity
      const isTold = nowMs - toldMs >= TOLD_EVERY_MS
      this.#seen.delete(id)
      this.#seen.set(id, { askedMs: nowMs, toldMs: isTold ? nowMs : toldMs })
      bus.publish('nodeUnknown', { cluster_id: clusterId }, id)
      if (!isTold) continue
      const text = `heartbeats of a second process with the key of ${name} are ignored: ${name} is connected from ${address}`
      log.warn({ node: id, run, first }, `control: ${text}`)
    }
    while (this.#seen.size > MOST_KNOWN) this.#seen.delete(this.#seen.keys().next().value!)
  }
}

interface Row {
  id: string
  name: string
  address: string
  run_id: string | null
}
