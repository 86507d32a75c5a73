import type { Node } from '../types.ts'

export type NodeStatus = 'pending' | 'draining' | 'healthy' | 'unhealthy' | 'offline'

/** One word for people, from three independent facts. */
export function statusOf(node: Pick<Node, 'approved' | 'desired' | 'liveness'>): NodeStatus {
  if (!node.approved) return 'pending'
  if (node.liveness === 'offline') return 'offline'
  if (node.desired === 'draining') return 'draining'
  return node.liveness === 'online' ? 'healthy' : 'unhealthy'
}
