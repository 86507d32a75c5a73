import type { RoutingDeltaMessage, RoutingSnapshotMessage } from '../../api/bus/messages.ts'
import type { Bus } from '../../bus/bus.ts'
import { AppError } from '../../platform/errors.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import { fetchTable } from './fetch-table.ts'
import type { ForeignFeed } from './foreign-feed.ts'
import type { LiveTable } from './routing-table.ts'
import type { SavedTable } from './saved-table.ts'

/** Deltas come every few seconds even when nothing changes: after this much silence the table may be stale. */
const STALE_AFTER_MS = 15_000
/** How long control has to answer after the start, before the saved table of the last run is used. */
const SAVED_AFTER_MS = 2000

export interface TableFeedDeps {
  bus: Bus
  clock: Clock
  log: Logger
  table: LiveTable
  foreign: ForeignFeed
  savedTable: SavedTable | undefined
  /** After this much silence of control the table counts as stale. */
  staleAfterMs?: number | undefined
  /** Called when a snapshot is needed: the caller should call `look` soon. */
  onWanted: () => void
}

/** Keeps the routing table up to date: a snapshot, then deltas, and another snapshot when a delta was missed. */
export class TableFeed {
  readonly #deps: TableFeedDeps
  #isWanted = true
  #heardMs: number | undefined
  /** When the saved table that is in use was written; undefined once control has sent one. */
  #savedAtMs: number | undefined
  #cancelSaved = (): void => {}

  constructor(deps: TableFeedDeps) {
    this.#deps = deps
  }

  /** Subscribes to deltas; loads the saved table of the last run if control does not answer for a while. */
  start(): void {
    const { bus, clock, savedTable } = this.#deps
    bus.subscribe('routingDelta', (delta) => this.#take(delta))
    this.#cancelSaved = clock.after(savedTable ? SAVED_AFTER_MS : 0, () => this.#takeSaved())
  }

  /** Fetches a snapshot when one is needed; rejects when that fails. */
  async look(): Promise<void> {
    const { bus, foreign, table } = this.#deps
    if (!this.#isWanted && !this.isStale()) return
    this.#isWanted = false
    try {
      const fetched = await fetchTable(bus)
      if (foreign.isForeign(fetched))
        throw new AppError('other_cluster', 'The routing table belongs to another cluster.')
      table.replace(fetched)
      this.#heard(true)
    } catch (error) {
      this.#isWanted = true
      throw error
    }
  }

  /** A delta was missed, or may have been. */
  refresh(): void {
    this.#isWanted = true
    this.#deps.onWanted()
  }

  silentMs(): number | undefined {
    return this.#heardMs === undefined ? undefined : this.#deps.clock.nowMs() - this.#heardMs
  }

  isStale(): boolean {
    const { staleAfterMs = STALE_AFTER_MS } = this.#deps
    return this.#savedAtMs !== undefined || (this.silentMs() ?? 0) > staleAfterMs
  }

  /** A problem of the table that does not keep the gateway from serving, if there is one. */
  note(): string | undefined {
    const other = this.#deps.foreign.note()
    if (other !== undefined) return other
    if (this.#savedAtMs !== undefined)
      return `control has not answered yet; serving from the table saved at ${timeOf(this.#savedAtMs)}`
    const seconds = Math.round((this.silentMs() ?? 0) / 1000)
    return this.isStale() ? `nothing heard from control for ${seconds} s; serving from the last table` : undefined
  }

  dispose(): void {
    this.#cancelSaved()
  }

  #take(delta: RoutingDeltaMessage): void {
    const { foreign, table, clock } = this.#deps
    if (foreign.isForeign(delta)) return
    if (table.apply(delta, clock.nowMs())) this.#heard(delta.version !== delta.from_version)
    else this.refresh()
  }

  #heard(isChanged: boolean): void {
    const { clock, savedTable } = this.#deps
    this.#heardMs = clock.nowMs()
    this.#savedAtMs = undefined
    if (isChanged) savedTable?.changed(() => this.#toSave())
  }

  #toSave(): RoutingSnapshotMessage | undefined {
    const snapshot = this.#deps.table.snapshot()
    return snapshot && { ...snapshot, cluster_id: this.#deps.foreign.clusterId }
  }

  #takeSaved(): void {
    const { table, savedTable, foreign, log } = this.#deps
    if (table.hasSnapshot()) return
    const found = savedTable?.load()
    if (!found || foreign.isForeign(found.table)) return
    table.replace(found.table)
    this.#savedAtMs = found.savedAtMs
    const fields = { saved_at: timeOf(found.savedAtMs) }
    log.warn(fields, 'gateway: control does not answer; serving from the saved routing table')
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
