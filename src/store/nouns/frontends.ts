import type { Sql } from '../sql.ts'

/** The admin key of a frontend that has been away for longer no longer opens the gateways of others. */
const KEPT_MS = 7 * 86_400_000
/** Far more than a cluster has; a frontend that loses its data folder at each start makes a row each time. */
const MOST_FRONTENDS = 32

const KEPT = 'seen_at > (select now_ms()) - $1 order by seen_at desc, owner limit $2'

/** This frontend is there, and this is the hash of its admin key from now on. */
export async function recordFrontend(tx: Sql, owner: string, adminKeyHash: string): Promise<void> {
  await tx.query(
    `insert into frontends (owner, admin_key_hash, seen_at) values ($1, $2, now_ms())
     on conflict (owner) do update set admin_key_hash = excluded.admin_key_hash, seen_at = excluded.seen_at`,
    [owner, adminKeyHash],
  )
}

/** Hashes of the admin keys of all frontends that were there lately, always in the same order. */
export async function listAdminKeyHashes(sql: Sql): Promise<string[]> {
  const text = `select owner, admin_key_hash from frontends where ${KEPT}`
  const rows = await sql.query<{ owner: string; admin_key_hash: string }>(text, [KEPT_MS, MOST_FRONTENDS])
  return rows.toSorted((a, b) => (a.owner < b.owner ? -1 : 1)).map(({ admin_key_hash: hash }) => hash)
}

export async function pruneFrontends(tx: Sql): Promise<void> {
  const text = `delete from frontends where owner not in (select owner from frontends where ${KEPT})`
  await tx.query(text, [KEPT_MS, MOST_FRONTENDS])
}
