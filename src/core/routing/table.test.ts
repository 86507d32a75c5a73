import { describe, expect, test } from 'vitest'
import { aModel, aNode, aReplica, aRule } from '../../../test/support/builders.ts'
import { routableReplicas } from './table.ts'

describe('replicas that may be sent requests', () => {
  const routable = (
    node: Parameters<typeof aNode>[0],
    replica: Parameters<typeof aReplica>[0] = {},
    rules = [aRule()],
  ): boolean =>
    routableReplicas([aModel()], [aNode({ id: 'n1', ...node })], [aReplica({ nodeId: 'n1', ...replica })], rules)
      .length === 1

  test('a ready replica of the current revision on an approved, active node', () => {
    expect(routable({})).toBe(true)
  })

  test('also while its node misses heartbeats: silence of control is no reason to fail requests', () => {
    expect(routable({ liveness: 'unreachable' })).toBe(true)
  })

  test('also when no rule asks for its model any more', () => {
    expect(routable({}, {}, [])).toBe(true)
    expect(routable({}, {}, [aRule({ modelName: 'other', nodeSelector: { gpu: 'h200' } })])).toBe(true)
  })

  test.each([
    ['a node that is not approved', { approved: false }, {}],
    ['a draining node', { desired: 'draining' as const }, {}],
    ['an offline node', { liveness: 'offline' as const }, {}],
    ['a replica that is loading', {}, { state: 'loading' as const }],
    ['a replica that is draining', {}, { state: 'draining' as const }],
    ['a replica that is stopping', {}, { state: 'stopping' as const }],
    ['a replica of an old revision', {}, { revision: 'r0' }],
    ['a replica of a deleted model', {}, { modelName: 'gone' }],
    ['a replica of an unknown node', {}, { nodeId: 'n9' }],
  ])('never %s', (_, node, replica) => {
    expect(routable(node, replica)).toBe(false)
  })

  test.each([
    ['all pairs', { gpu: 'h200', zone: 'a', more: '1' }, true],
    ['one pair missing', { gpu: 'h200' }, false],
    ['another value', { gpu: 'h200', zone: 'b' }, false],
    ['no labels', {}, false],
  ])('with a selector, a node needs every pair of it: %s', (_, labels, expected) => {
    expect(routable({ labels }, {}, [aRule({ nodeSelector: { gpu: 'h200', zone: 'a' } })])).toBe(expected)
  })

  test('a label that every object has by birth is no label of a node', () => {
    expect(routable({ labels: {} }, {}, [aRule({ nodeSelector: { constructor: 'x' } })])).toBe(false)
  })

  test('a selector may name several values, and what a node must not have', () => {
    expect(routable({ labels: {} }, {}, [aRule({ nodeSelector: { gpu: '!cpu', '!spot': '' } })])).toBe(true)
    expect(routable({ labels: { spot: 'yes' } }, {}, [aRule({ nodeSelector: { '!spot': '' } })])).toBe(false)
    expect(routable({ labels: { zone: 'c' } }, {}, [aRule({ nodeSelector: { zone: ['a', 'b'] } })])).toBe(false)
  })
})

test('a route tells how to reach its replica and what its node has free', () => {
  const node = aNode({ id: 'n1', name: 'box', address: '10.0.0.1:9090', availableVram: 5 })
  const replica = aReplica({ id: 'r', nodeId: 'n1', generation: 3 })
  expect(routableReplicas([aModel()], [node], [replica], [])).toEqual([
    {
      replicaId: 'r',
      generation: 3,
      modelName: 'm',
      nodeId: 'n1',
      nodeName: 'box',
      address: '10.0.0.1:9090',
      availableVram: 5,
    },
  ])
})
