import type { Sql } from '../sql.ts'

/** How many rows of models that are gone, or of revisions that are, stay in each table: for when they return. */
export const KEPT_OF_OTHERS = 500
/** In one transaction, so that a large backlog holds the store up at no time; the rest goes at the next pruning. */
const MOST_AT_ONCE = 5000

/**
 * Deletes what is known of models that no longer exist: facts, learned memory and last loads. All of existing models stays
 * (learned memory: of their present revision), and so do the newest rows of the others.
 */
export async function pruneModelRows(tx: Sql): Promise<void> {
  const isGone = 'model_name not in (select name from models)'
  await prune(tx, 'model_load_info', 'model_name', isGone, 'loaded_at')
  await prune(tx, 'model_facts', 'model_name', isGone, 'read_at')
  const key = 'model_name, revision, engine_version, device_kind'
  await prune(
    tx,
    'learned_memory',
    key,
    '(model_name, revision) not in (select name, revision from models)',
    'updated_at',
  )
}

async function prune(tx: Sql, table: string, key: string, isOther: string, writtenAt: string): Promise<void> {
  await tx.query(
    `delete from ${table} where (${key}) in
       (select ${key} from ${table} where ${isOther} order by ${writtenAt} desc, ${key} limit $1 offset $2)`,
    [MOST_AT_ONCE, KEPT_OF_OTHERS],
  )
}
