import { expect, test } from 'vitest'
import { aNode, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import { replacementsFor } from './replacements.ts'

const nodes = [aNode({ id: 'n1' }), aNode({ id: 'n2' })]
const replicas = [aReplica({ id: 'a', nodeId: 'n1' }), aReplica({ id: 'b', nodeId: 'n2' })]
const without = (gone: string[], minReplicas: number, fields = {}) =>
  replacementsFor(aWorld({ nodes, replicas, rules: [aRule({ minReplicas })], ...fields }), 'm', new Set(gone))

test('what a rule would start again, and where', () => {
  expect(without(['a'], 2)).toEqual({ wanted: true, nodeIds: ['n1'] })
  expect(without(['a', 'b'], 2)).toEqual({ wanted: true, nodeIds: ['n1', 'n2'] })
})

test('nothing when enough are left, or no rule asks for it', () => {
  expect(without(['a'], 1)).toEqual({ wanted: false, nodeIds: [] })
  expect(without(['a'], 1, { rules: [] })).toEqual({ wanted: false, nodeIds: [] })
  expect(without(['a'], 2, { models: [] })).toEqual({ wanted: false, nodeIds: [] })
})

test('wanted but nowhere when no node takes it', () => {
  const drained = [aNode({ id: 'n1', desired: 'draining' }), nodes[1]!]
  expect(without(['a'], 2, { nodes: drained })).toEqual({ wanted: true, nodeIds: [] })
})
