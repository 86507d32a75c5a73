import { describe, expect, test } from 'vitest'
import { aNode, aReplica } from '../../testing/builders.ts'
import { place } from './place.ts'

const need = { modelName: 'm', engine: 'sim', selector: {} }

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

describe('a selector', () => {
  const nodes = [
    aNode({ id: 'bare' }),
    aNode({ id: 'slow', labels: { tier: 'slow', zone: 'a' } }),
    aNode({ id: 'fast', labels: { tier: 'fast', zone: 'b' } }),
  ]

  test('takes only a node that has every pair of it, and says which one another lacks', () => {
    const placement = place({ ...need, selector: { zone: 'b', tier: 'fast' } }, nodes, [])
    expect(placement).toMatchObject({ ok: true, nodeId: 'fast' })
    expect(placement.refusals).toMatchObject([
      { nodeId: 'bare', filter: 'selector', needed: 'zone=b', available: 'no label zone' },
      { nodeId: 'slow', filter: 'selector', needed: 'zone=b', available: 'zone=a' },
    ])
    expect(place({ ...need, selector: { tier: 'fast', zone: 'a' } }, nodes, []).refusals.at(-1)).toMatchObject({
      nodeId: 'fast',
      needed: 'zone=a',
      available: 'zone=b',
    })
  })

  test('that asks for nothing takes any node', () => {
    expect(place(need, nodes, [])).toMatchObject({ ok: true, refusals: [] })
  })

  test('goes by what a node was labelled with, not by what every object has', () => {
    expect(place({ ...need, selector: { constructor: '' } }, nodes, []).refusals).toHaveLength(3)
    const odd = aNode({ labels: Object.fromEntries([['__proto__', 'x']]) })
    const selector = Object.fromEntries([['__proto__', 'x']])
    expect(place({ ...need, selector }, [odd, nodes[0]!], [])).toMatchObject({ ok: true, nodeId: odd.id })
  })

  test('an empty value is a value', () => {
    const empty = aNode({ labels: { spot: '' } })
    expect(place({ ...need, selector: { spot: '' } }, [empty, nodes[0]!], [])).toMatchObject({
      ok: true,
      nodeId: empty.id,
      refusals: [{ available: 'no label spot' }],
    })
  })
})

test('an engine named like something every object has is no engine', () => {
  const nodes = [aNode({ id: 'n1' })]
  expect(place({ ...need, engine: 'constructor' }, nodes, []).refusals).toMatchObject([
    { filter: 'engine', needed: 'constructor', available: 'the node has no such engine' },
  ])
})
