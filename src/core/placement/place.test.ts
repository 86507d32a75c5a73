import { expect, test } from 'vitest'
import { aNode, aReplica } from '../../testing/builders.ts'
import { place } from './place.ts'

const need = { modelName: 'm', engine: 'sim' }

test('the node with the fewest replicas is taken', () => {
  const nodes = [aNode({ id: 'n1' }), aNode({ id: 'n2' })]
  expect(place(need, nodes, [aReplica({ nodeId: 'n1', modelName: 'other' })])).toMatchObject({ ok: true, nodeId: 'n2' })
})

test('the lowest free index is taken', () => {
  const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 3 })]
  const replicas = [aReplica({ nodeId: 'n1', replicaIndex: 0 }), aReplica({ nodeId: 'n1', replicaIndex: 2 })]
  expect(place(need, nodes, replicas)).toMatchObject({ ok: true, replicaIndex: 1 })
})

test('slots are for each model: another model does not use them up', () => {
  const nodes = [aNode({ id: 'n1' })]
  expect(place(need, nodes, [aReplica({ nodeId: 'n1', modelName: 'other' })])).toMatchObject({
    ok: true,
    replicaIndex: 0,
  })
})

test('every node that cannot take it says why, with what was needed and what there is', () => {
  const nodes = [
    aNode({ id: 'new', approved: false }),
    aNode({ id: 'leaving', desired: 'draining' }),
    aNode({ id: 'silent', liveness: 'unreachable' }),
    aNode({ id: 'helper', nodeType: 'agent' }),
    aNode({ id: 'bare', engines: { sim: 'the program sim-engine is not in PATH' } }),
    aNode({ id: 'other', engines: { vllm: null } }),
    aNode({ id: 'full' }),
  ]
  const placement = place(need, nodes, [aReplica({ nodeId: 'full' })])
  expect(placement.ok).toBe(false)
  expect(
    placement.refusals.map(({ nodeId, filter, needed, available }) => [nodeId, filter, needed, available]),
  ).toEqual([
    ['new', 'approved', 'approved', 'pending'],
    ['leaving', 'active', 'active', 'draining'],
    ['silent', 'online', 'online', 'unreachable'],
    ['helper', 'backend', 'backend', 'agent'],
    ['bare', 'engine', 'sim', 'the program sim-engine is not in PATH'],
    ['other', 'engine', 'sim', 'the node has no such engine'],
    ['full', 'slot', 2, 1],
  ])
})

test('an engine named like something every object has is no engine', () => {
  const nodes = [aNode({ id: 'n1' })]
  expect(place({ modelName: 'm', engine: 'constructor' }, nodes, []).refusals).toMatchObject([
    { filter: 'engine', needed: 'constructor', available: 'the node has no such engine' },
  ])
})
