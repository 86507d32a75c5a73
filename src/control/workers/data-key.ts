import { createHmac } from 'node:crypto'

/** Of one cluster, as a rule; when there are more the oldest are made again. */
const MOST_KNOWN = 10_000
const known = new Map<string, string>()

/** One key per node: a leaked key opens no other node's data port. It is derived, so nothing is stored and a restart keeps it. */
export function dataKeyOf(clusterSecret: string, nodeId: string): string {
  const name = `${clusterSecret} ${nodeId}`
  const before = known.get(name)
  if (before !== undefined) return before
  const key = createHmac('sha256', clusterSecret).update(`data-key ${nodeId}`).digest('base64url')
  if (known.size >= MOST_KNOWN) known.delete(known.keys().next().value!)
  known.set(name, key)
  return key
}
