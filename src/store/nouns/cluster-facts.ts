import type { Database, Sql } from '../sql.ts'

/** The cluster's fact of this name: `proposal`, unless another frontend was quicker. */
export function agreeOn(db: Database, name: string, proposal: string): Promise<string> {
  return db.transaction(async (tx) => {
    await tx.query('insert into cluster_facts (name, value) values ($1, $2) on conflict (name) do nothing', [
      name,
      proposal,
    ])
    const [row] = await tx.query<{ value: string }>('select value from cluster_facts where name = $1', [name])
    return row!.value
  })
}

/** The fact from which data keys and the cluster's CA are made. */
export const CLUSTER_SECRET = 'cluster_secret'

/**
 * The fact by which workers, gateways and frontends tell this cluster from another. Chance alone makes it: the secret may be
 * replaced. A backup holds it, so a restored cluster is the same one.
 */
export const CLUSTER_ID = 'cluster_id'

/** Another one in its place, for a cluster that is stopped: what runs has the old one in memory. */
export async function replaceFact(tx: Sql, name: string, value: string): Promise<void> {
  await tx.query(
    'insert into cluster_facts (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
    [name, value],
  )
}

const LOSS_ACCEPTED = 'loss_accepted_at'

/** When an admin last accepted the loss of nodes; null when that never happened. */
export async function lossAcceptedMs(sql: Sql): Promise<number | null> {
  const [row] = await sql.query<{ value: string }>('select value from cluster_facts where name = $1', [LOSS_ACCEPTED])
  return row ? Number(row.value) : null
}

export async function acceptLoss(tx: Sql): Promise<void> {
  const [row] = await tx.query<{ now: number }>('select now_ms() as now')
  await replaceFact(tx, LOSS_ACCEPTED, String(row!.now))
}
