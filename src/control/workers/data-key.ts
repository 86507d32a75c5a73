import { createHmac } from 'node:crypto'

/** Of one cluster, as a rule; when there are more the oldest are made again. */
const MOST_KNOWN = 10_000
const known = new Map<string, string>()

/** Each node's own: a node that gives its key away opens nobody else's data port. Nothing to store, the same after a restart. */
export function dataKeyOf(clusterSecret: string, nodeId: string): string {
  const name = `${clusterSecret} ${nodeId}`
  const before = known.get(name)
  if (before !== undefined) return before
  const key = createHmac('sha256', clusterSecret).update(`data-key ${nodeId}`).digest('base64url')
  if (known.size >= MOST_KNOWN) known.delete(known.keys().next().value!)
  known.set(name, key)
  return key
}
