import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { mismatchOf } from '../../../../src/core/nodes/selector.ts'
import type { Selector } from '../../../../src/core/types.ts'

export interface Matching {
  /** Nodes that the selector is for and that run models, in the order given. */
  nodes: NodeView[]
  /** Those of them that take no replica as they are, and why. */
  troubled: { node: NodeView; why: string }[]
  /** Of those that do. */
  slots: number
  freeVram: number
  totalVram: number
  freeRam: number
}

/** Which nodes a selector means, and what they have room for. */
export function matchingNodes(nodes: readonly NodeView[], selector: Selector): Matching {
  const matched = nodes.filter((node) => node.node_type === 'backend' && !mismatchOf(selector, node.labels))
  const able = matched.filter(({ status }) => status === 'healthy')
  const sum = (figure: (node: NodeView) => number): number => able.reduce((total, node) => total + figure(node), 0)
  return {
    nodes: matched,
    troubled: matched
      .filter(({ status }) => status !== 'healthy')
      .map((node) => ({ node, why: troubles[node.status] ?? node.status })),
    slots: sum((node) => node.max_replicas_per_model),
    freeVram: sum((node) => Math.max(0, (node.available_vram ?? 0) - node.reserved_vram)),
    totalVram: sum((node) => node.total_vram),
    freeRam: sum((node) => Math.max(0, (node.available_ram ?? 0) - node.reserved_ram)),
  }
}

const troubles: Readonly<Partial<Record<NodeView['status'], string>>> = {
  pending: 'waits for approval',
  draining: 'is draining',
  unhealthy: 'does not answer',
  offline: 'is offline',
}
