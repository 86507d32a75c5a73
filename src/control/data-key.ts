import { createHmac } from 'node:crypto'

/** Each node's own: a node that gives its key away opens nobody else's data port. Nothing to store, the same after a restart. */
export function dataKeyOf(clusterSecret: string, nodeId: string): string {
  return createHmac('sha256', clusterSecret).update(`data-key ${nodeId}`).digest('base64url')
}
