import type { Sql } from '../sql.ts'

/** What tells a store from another, and from an older state of itself. */
export interface StoreMark {
  /** The cluster of the store; null when no frontend of this release has started on it. */
  clusterId: string | null
  /** The highest of all leases; 0 when none was ever taken. */
  epoch: number
  /** The number of the newest event. */
  eventId: number
}

/** Three looks at indexes in one statement. */
export async function readMark(sql: Sql): Promise<StoreMark> {
  const [row] = await sql.query<{ cluster_id: string | null; epoch: number; event_id: number }>(
    `select (select value from cluster_facts where name = 'cluster_id') as cluster_id,
       (select coalesce(max(epoch), 0) from leases) as epoch,
       (select coalesce(max(id), 0) from events) as event_id`,
  )
  return { clusterId: row!.cluster_id, epoch: row!.epoch, eventId: row!.event_id }
}
