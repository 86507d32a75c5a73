import { expect, test } from 'vitest'
import { aNode, aReplica, aRule } from '../../../test/support/builders.ts'
import { spreadOver } from './spread.ts'

const rule = aRule({ spreadAll: true, minReplicas: 0, nodeSelector: { tier: 'gpu' } })
const gpu = { labels: { tier: 'gpu' } }

test('every matching node wants one, whatever others have', () => {
  const nodes = ['n1', 'n2', 'n3'].map((id) => aNode({ id, ...gpu, maxReplicasPerModel: 2 }))
  const keep = [aReplica({ id: 'a', nodeId: 'n1' }), aReplica({ id: 'b', nodeId: 'n1', replicaIndex: 1 })]
  const { missingOn, surplus } = spreadOver(rule, nodes, keep)
  expect(missingOn).toEqual(['n2', 'n3'])
  expect(surplus.map(({ id }) => id)).toEqual(['b'])
})

test('of two on one node the one that serves stays', () => {
  const keep = [aReplica({ id: 'a', state: 'loading' }), aReplica({ id: 'b', replicaIndex: 1 })]
  expect(spreadOver(rule, [aNode({ id: 'n1', ...gpu })], keep).surplus.map(({ id }) => id)).toEqual(['a'])
})

test('a node that is not meant, not approved, leaving, gone or an agent wants none; a silent one still does', () => {
  const nodes = [
    aNode({ id: 'other', labels: { tier: 'cpu' } }),
    aNode({ id: 'new', ...gpu, approved: false }),
    aNode({ id: 'leaving', ...gpu, desired: 'draining' }),
    aNode({ id: 'gone', ...gpu, liveness: 'offline' }),
    aNode({ id: 'helper', ...gpu, nodeType: 'agent' }),
    aNode({ id: 'silent', ...gpu, liveness: 'unreachable' }),
  ]
  expect(spreadOver(rule, nodes, []).missingOn).toEqual(['silent'])
})
