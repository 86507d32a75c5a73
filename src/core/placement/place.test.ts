import { describe, expect, test } from 'vitest'
import { aModel, aNode, aNodeEngine, aReplica } from '../../../test/support/builders.ts'
import type { Node, Replica } from '../types.ts'
import { aBigModel, aGpuNode, GIB, gpu, llama, needFor, placeOn } from './scene-suite.ts'
import type { Need } from '../memory/types.ts'

const need = needFor(aModel())

describe('spreading', () => {
  test('the node with the fewest replicas of the model is taken, even if it has more of others', () => {
    const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 2 }), aNode({ id: 'n2' })]
    const others = ['a', 'b'].map((modelName) => aReplica({ nodeId: 'n2', modelName }))
    expect(placeOn(need, nodes, [aReplica({ nodeId: 'n1' }), ...others])).toMatchObject({ ok: true, nodeId: 'n2' })
  })

  test('then an idle node, then the one with most free memory, then the first by name', () => {
    const nodes = [aNode({ id: 'n1' }), aNode({ id: 'n2' }), aNode({ id: 'n3' })]
    expect(placeOn(need, nodes, [aReplica({ nodeId: 'n1', modelName: 'other' })])).toMatchObject({ nodeId: 'n2' })
    const roomy = { ...nodes[2]!, totalRam: 8 * GIB, availableRam: 4 * GIB }
    expect(placeOn(need, [...nodes.slice(0, 2), roomy])).toMatchObject({ nodeId: 'n3' })
    expect(placeOn(need, nodes.toReversed())).toMatchObject({ nodeId: 'n1' })
  })

  test('then the node that has the files', () => {
    const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 2 }), aNode({ id: 'n2', maxReplicasPerModel: 2 })]
    const facts = { modelName: 'm', revision: 'r1', payloadBytes: GIB, header: null }
    const leaving = aReplica({ nodeId: 'n2', state: 'draining' })
    expect(placeOn({ ...need, facts }, nodes, [leaving])).toMatchObject({ nodeId: 'n2', claim: { disk: 0 } })
    expect(placeOn({ ...need, facts }, nodes)).toMatchObject({ nodeId: 'n1', claim: { disk: GIB } })
  })
})

describe('replicas of one model over machines with and without GPUs', () => {
  /** As a pretended GPU machine has it: the engine wants a GPU there, and takes nothing of its memory. */
  const idleOnGpu = aNodeEngine({ uses: { device: 'gpu', bytes: 0 } })
  const withGpu = aNode({ id: 'gpu', maxReplicasPerModel: 8, devices: [gpu(0, 24)], engines: { sim: idleOnGpu } })
  const cpus = ['cpu1', 'cpu2', 'cpu3'].map((id) => aNode({ id, maxReplicasPerModel: 8 }))

  test.each(['spread', 'pack'] as const)(
    '%s: what takes no VRAM leaves the machine with the GPU to others',
    (policy) => {
      expect(placeOn(need, [withGpu, ...cpus], [], { policy })).toMatchObject({ nodeId: 'cpu1' })
    },
  )

  test('what takes no VRAM goes to every machine once, and then again to those without a GPU', () => {
    expect(placedOneByOne(need, [withGpu, ...cpus], 4)).toEqual(['cpu1', 'cpu2', 'cpu3', 'gpu'])
    expect(placedOneByOne(need, [withGpu, ...cpus], 5)).toEqual(['cpu1', 'cpu2', 'cpu3', 'gpu', 'cpu1'])
    expect(placedOneByOne(need, cpus, 3)).toEqual(['cpu1', 'cpu2', 'cpu3'])
  })

  test('an idle machine with a GPU comes before a busy one without', () => {
    const others = cpus.map(({ id }) => aReplica({ nodeId: id, modelName: 'other' }))
    expect(placeOn(need, [withGpu, ...cpus], others)).toMatchObject({ nodeId: 'gpu' })
  })

  test('what takes VRAM where there is some goes to the GPU, as often as it fits', () => {
    const engines = { llama }
    const both = [withGpu, ...cpus].map((node) => ({ ...node, engines, totalRam: 64 * GIB, availableRam: 64 * GIB }))
    expect(placedOneByOne(needFor(aBigModel(10)), both, 4)).toEqual(['gpu', 'gpu', 'cpu1', 'cpu2'])
  })

  test('what takes VRAM goes to every GPU machine once before it comes to one twice', () => {
    const nodes = [80, 24, 25].map((gib) => aGpuNode([gpu(0, gib)], { id: `g${gib}`, maxReplicasPerModel: 4 }))
    expect(placedOneByOne(needFor(aBigModel(10)), nodes, 5)).toEqual(['g80', 'g25', 'g24', 'g80', 'g25'])
  })
})

function placedOneByOne(what: Need, nodes: readonly Node[], count: number): string[] {
  const replicas: Replica[] = []
  for (let left = count; left > 0; left -= 1) {
    const placement = placeOn(what, nodes, replicas)
    if (!placement.ok) throw new Error(`${left} of ${count} find no place`)
    const { nodeId, replicaIndex, claim } = placement
    replicas.push(aReplica({ modelName: what.model.name, nodeId, replicaIndex, claim }))
  }
  return replicas.map(({ nodeId }) => nodeId)
}

test('packing takes the node that is left with the least', () => {
  const nodes = [8, 4, 6].map((gib) => aNode({ id: `n${gib}`, totalRam: gib * GIB, availableRam: gib * GIB }))
  const large = needFor(aModel({ memory: { vram: 0, ram: 5 * GIB } }))
  expect(placeOn(large, nodes, [], { policy: 'pack' })).toMatchObject({ nodeId: 'n6' })
  expect(placeOn(large, nodes, [], { policy: 'spread' })).toMatchObject({ nodeId: 'n8' })
})

test('the lowest free index is taken, and a failed replica keeps its own', () => {
  const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 4 })]
  const replicas = [
    aReplica({ nodeId: 'n1', replicaIndex: 0, state: 'failed' }),
    aReplica({ nodeId: 'n1', replicaIndex: 2 }),
  ]
  expect(placeOn(need, nodes, replicas)).toMatchObject({ ok: true, replicaIndex: 1 })
})

test('where the slots were lowered, a free index is no free slot while a higher one runs, or ends', () => {
  const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 1 })]
  const above = aReplica({ nodeId: 'n1', replicaIndex: 1 })
  const refusal = { filter: 'slot', needed: 2, available: 1 }
  expect(placeOn(need, nodes, [above])).toMatchObject({ ok: false, refusals: [refusal] })
  expect(placeOn(need, nodes, [{ ...above, state: 'draining' }])).toMatchObject({
    ok: true,
    waitsFor: [{ replicaIndex: 1 }],
  })
  expect(placeOn(need, nodes, [{ ...above, state: 'failed' }])).toMatchObject({ ok: true, replicaIndex: 0 })
})

test('slots are for each model: another model does not use them up', () => {
  const nodes = [aNode({ id: 'n1' })]
  const placement = placeOn(need, nodes, [aReplica({ nodeId: 'n1', modelName: 'other' })])
  expect(placement).toMatchObject({ ok: true, replicaIndex: 0 })
})

test('every node that cannot take it says why, with what was needed and what there is', () => {
  const whyNot = 'the program sim-engine is not in PATH'
  const nodes = [
    aNode({ id: 'bare', engines: { sim: aNodeEngine({ whyNot }) } }),
    aNode({ id: 'crowded' }),
    aNode({ id: 'full', availableDisk: 3 * GIB }),
    aNode({ id: 'helper', nodeType: 'agent' }),
    aNode({ id: 'leaving', desired: 'draining' }),
    aNode({ id: 'new', approved: false }),
    aNode({ id: 'other', engines: { vllm: aNodeEngine() } }),
    aNode({ id: 'rival' }),
    aNode({ id: 'silent', liveness: 'unreachable' }),
    aNode({ id: 'small', totalRam: 2 * GIB }),
    aNode({ id: 'unlucky' }),
  ]
  const model = aModel({ memory: { vram: 0, ram: 3 * GIB }, antiAffinity: 'big' })
  const rival = aModel({ name: 'rival', antiAffinity: 'big' })
  const facts = { modelName: 'm', revision: 'r1', payloadBytes: 3 * GIB, header: null }
  const failing = new Map([['unlucky', 'failed 2 times, next try in 3 s']])
  const replicas = [aReplica({ nodeId: 'crowded' }), aReplica({ nodeId: 'rival', modelName: 'rival' })]
  const placement = placeOn(needFor(model, { facts, failing }), nodes, replicas, { models: [model, rival] })
  expect(placement.ok).toBe(false)
  expect(
    placement.refusals.map(({ nodeId, filter, needed, available }) => [nodeId, filter, needed, available]),
  ).toEqual([
    ['bare', 'engine', 'sim', whyNot],
    ['crowded', 'slot', 2, 1],
    ['full', 'disk', 4 * GIB, 3 * GIB],
    ['helper', 'backend', 'backend', 'agent'],
    ['leaving', 'active', 'active', 'draining'],
    ['new', 'approved', 'approved', 'pending'],
    ['other', 'engine', 'sim', 'the node has no such engine'],
    ['rival', 'anti_affinity', 'no other of big', 'rival'],
    ['silent', 'online', 'online', 'unreachable'],
    ['small', 'memory', 3 * GIB, 2 * GIB - 256 * 2 ** 20],
    ['unlucky', 'failing', 'a start that succeeds', 'failed 2 times, next try in 3 s'],
  ])
})

test('with `only` no other node is looked at', () => {
  const nodes = [aNode({ id: 'n1' }), aNode({ id: 'n2', approved: false })]
  expect(placeOn(need, nodes, [], { only: 'n2' })).toMatchObject({ ok: false, refusals: [{ nodeId: 'n2' }] })
})

describe('a selector', () => {
  const nodes = [
    aNode({ id: 'bare' }),
    aNode({ id: 'fast', labels: { tier: 'fast', zone: 'b' } }),
    aNode({ id: 'slow', labels: { tier: 'slow', zone: 'a' } }),
  ]

  test('takes only a node that has every pair of it, and says which one another lacks', () => {
    const placement = placeOn({ ...need, selector: { zone: 'b', tier: 'fast' } }, nodes)
    expect(placement).toMatchObject({ ok: true, nodeId: 'fast' })
    expect(placement.refusals).toMatchObject([
      { nodeId: 'bare', filter: 'selector', needed: 'zone=b', available: 'no label zone' },
      { nodeId: 'slow', filter: 'selector', needed: 'zone=b', available: 'zone=a' },
    ])
  })

  test('that asks for nothing takes any node', () => {
    expect(placeOn(need, nodes)).toMatchObject({ ok: true, refusals: [] })
  })

  test('goes by what a node was labelled with, not by what every object has', () => {
    expect(placeOn({ ...need, selector: { constructor: '' } }, nodes).refusals).toHaveLength(3)
    const odd = aNode({ labels: Object.fromEntries([['__proto__', 'x']]) })
    const selector = Object.fromEntries([['__proto__', 'x']])
    expect(placeOn({ ...need, selector }, [odd, nodes[0]!])).toMatchObject({ ok: true, nodeId: odd.id })
  })

  test('an empty value is a value', () => {
    const empty = aNode({ labels: { spot: '' } })
    expect(placeOn({ ...need, selector: { spot: '' } }, [empty, nodes[0]!])).toMatchObject({
      ok: true,
      nodeId: empty.id,
      refusals: [{ available: 'no label spot' }],
    })
  })
})

test('an engine named like something every object has is no engine', () => {
  const odd = needFor(aModel({ engine: 'constructor' }))
  expect(placeOn(odd, [aNode()]).refusals).toMatchObject([
    { filter: 'engine', needed: 'constructor', available: 'the node has no such engine' },
  ])
})

test('models of one anti-affinity group share no node, replicas of one model may', () => {
  const [model, foe] = [aModel({ antiAffinity: 'g' }), aModel({ name: 'foe', antiAffinity: 'g' })]
  const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 2 })]
  const models = [model, foe]
  const taken = placeOn(needFor(model), nodes, [aReplica({ nodeId: 'n1', modelName: 'foe' })], { models })
  expect(taken).toMatchObject({ ok: false, refusals: [{ filter: 'anti_affinity', available: 'foe' }] })
  const leaving = aReplica({ nodeId: 'n1', modelName: 'foe', state: 'stopping' })
  expect(placeOn(needFor(model), nodes, [leaving], { models })).toMatchObject({ ok: true, waitsFor: [leaving] })
  expect(placeOn(needFor(model), nodes, [aReplica({ nodeId: 'n1' })], { models })).toMatchObject({ ok: true })
})
