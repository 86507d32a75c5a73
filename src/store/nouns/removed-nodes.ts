import type { NodeRow } from './nodes.ts'
import type { Sql } from '../sql.ts'

/** A worker learns of its removal within minutes of its start; one removed so long ago has ended or been replaced. */
const MOST_REMOVED = 1000

/** In one transaction with the removal: from then on the node is removed, which is not the same as unknown. */
export async function recordRemoval(
  tx: Sql,
  { id, public_key: publicKey, name }: Pick<NodeRow, 'id' | 'public_key' | 'name'>,
): Promise<void> {
  await tx.query(
    `insert into removed_nodes (id, public_key, name, removed_at) values ($1, $2, $3, now_ms())
     on conflict (id) do update set removed_at = excluded.removed_at`,
    [id, publicKey, name],
  )
  const text =
    'delete from removed_nodes where id not in (select id from removed_nodes order by removed_at desc limit $1)'
  await tx.query(text, [MOST_REMOVED])
}

export interface RemovedNode {
  name: string
  public_key: string
}

/** By the id it had. The same machine may be another node of the cluster by now. */
export async function findRemoved(sql: Sql, id: string): Promise<RemovedNode | undefined> {
  return (await sql.query<RemovedNode>('select name, public_key from removed_nodes where id = $1', [id]))[0]
}
