import { AppError } from '../../platform/errors.ts'
import type { Sql } from '../../store/sql.ts'
import { findRemoved } from '../../store/nouns/removed-nodes.ts'

/**
 * The answer to a node without a row. Removed: it ends. Unknown, because the store is older than its registration: it
 * registers again, and what it runs goes on. A worker of the release before ends at `forbidden` and retries at a code that
 * it does not know.
 */
export async function absentNode(sql: Sql, id: string, clusterId: string): Promise<AppError> {
  const removed = await findRemoved(sql, id)
  const from = { cluster_id: clusterId }
  if (removed) {
    const text = `${removed.name} was removed from the cluster.`
    return new AppError('forbidden', text, { details: { node: 'removed', ...from } })
  }
  const text = `This cluster has no node "${id}" and has removed none with that id: register again.`
  return new AppError('node_unknown', text, { details: from })
}
