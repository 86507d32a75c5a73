import { expect, test } from 'vitest'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { matchingNodes } from './matching-nodes.ts'

const aNode = (some: Partial<NodeView> = {}): NodeView =>
  ({
    name: 'ada',
    node_type: 'backend',
    status: 'healthy',
    labels: {},
    max_replicas_per_model: 1,
    total_vram: 0,
    available_vram: null,
    reserved_vram: 0,
    available_ram: null,
    reserved_ram: 0,
    ...some,
  }) as NodeView

test('an empty selector means every node that runs models', () => {
  const nodes = [aNode(), aNode({ name: 'agent', node_type: 'agent' })]
  expect(matchingNodes(nodes, {}).nodes.map(({ name }) => name)).toEqual(['ada'])
})

test('nodes that match and take nothing are told with the reason, and count for no room', () => {
  const nodes = [
    aNode({
      labels: { tier: 'fast' },
      max_replicas_per_model: 2,
      total_vram: 100,
      available_vram: 60,
      reserved_vram: 50,
    }),
    aNode({ name: 'bert', labels: { tier: 'fast' }, status: 'draining', max_replicas_per_model: 4 }),
    aNode({ name: 'carl', labels: { tier: 'slow' } }),
  ]
  const { nodes: matched, troubled, slots, freeVram } = matchingNodes(nodes, { tier: ['fast', 'faster'] })
  expect(matched.map(({ name }) => name)).toEqual(['ada', 'bert'])
  expect(troubled.map(({ node, why }) => `${node.name} ${why}`)).toEqual(['bert is draining'])
  expect([slots, freeVram]).toEqual([2, 10])
})
