import { expect, test } from 'vitest'
import { aModel, aNode, aNodeEngine, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import type { Node, Replica } from '../types.ts'
import { explainModel } from './explain.ts'
import { describeRefusal } from './refusals.ts'
import { aBigModel, aGpuNode, aTenant, claimOn, GIB, gpu, llama, needFor, placeOn } from './scene-suite.ts'
import type { Need } from '../memory/types.ts'

function adviceOf(need: Need, nodes: readonly Node[], replicas: readonly Replica[] = []): string[] {
  const placement = placeOn(need, nodes, replicas)
  return placement.ok ? [] : placement.advice.map(({ text }) => text)
}

test('acts of an admin come first, then what is short, the least first', () => {
  const missing = { llama: aNodeEngine({ whyNot: 'the program llama-server is neither installed nor in PATH' }) }
  const nodes = [
    aGpuNode([gpu(0, 24)], { id: 'a', desired: 'draining' }),
    aGpuNode([gpu(0, 24)], { id: 'b', approved: false }),
    aGpuNode([gpu(0, 24)], { id: 'c', engines: missing }),
    aGpuNode([gpu(0, 24)], { id: 'd' }),
    aGpuNode([gpu(0, 24)], { id: 'e' }),
    aGpuNode([gpu(0, 24)], { id: 'f', liveness: 'offline' }),
  ]
  const replicas = [
    aTenant({ nodeId: 'd', claim: claimOn({ 0: 9 }) }),
    aTenant({ nodeId: 'e', claim: claimOn({ 0: 7 }) }),
  ]
  expect(adviceOf(needFor(aBigModel(20)), nodes, replicas)).toEqual([
    'resume a',
    'approve b',
    'free 3.0 GiB on gpu 0 of e',
    'free 5.0 GiB on gpu 0 of d',
    'install the program llama-server on c',
  ])
})

test('what would not be enough by itself is not advised', () => {
  const nodes = [
    aGpuNode([gpu(0, 8)], { id: 'small', approved: false }),
    aNode({ id: 'other', approved: false, engines: {} }),
    aGpuNode([gpu(0, 24)], { id: 'both', approved: false, desired: 'draining' }),
  ]
  expect(adviceOf(needFor(aBigModel(20)), nodes)).toEqual([])
})

test('slots, labels, budgets, disks and foes have advice of their own', () => {
  const n1 = aNode({ id: 'n1', labels: { zone: 'a' } })
  expect(adviceOf(needFor(aModel()), [n1], [aReplica({ nodeId: 'n1' })])).toEqual(['raise the slots of n1 to 2'])
  expect(adviceOf(needFor(aModel(), { selector: { tier: 'gpu', zone: 'b' } }), [n1])).toEqual([
    'label n1 tier=gpu zone=b',
  ])
  expect(adviceOf(needFor(aModel(), { selector: { '!zone': '', tier: ['x', 'y'] } }), [n1])).toEqual([
    'label n1 tier=x and take the label zone off n1',
  ])
  const capped = aGpuNode([gpu(0, 24)], { id: 'n1', vramBudget: 10 * GIB })
  expect(adviceOf(needFor(aBigModel(12)), [capped])).toEqual(['raise the VRAM budget of n1 by 2.0 GiB'])
  const facts = { modelName: 'm', revision: 'r1', payloadBytes: 4 * GIB, header: null }
  expect(adviceOf(needFor(aModel(), { facts }), [{ ...n1, availableDisk: 2 * GIB }])).toEqual([
    'free 3.0 GiB of disk on n1',
  ])
  const engine = needFor(aModel({ engine: 'odd' }))
  expect(adviceOf(engine, [aNode({ id: 'n1', engines: { odd: aNodeEngine({ whyNot: 'no licence' }) } })])).toEqual([
    'make odd run on n1: no licence',
  ])
})

test('where nothing that is there would do, a machine that would', () => {
  expect(adviceOf(needFor(aBigModel(30)), [])).toEqual(['add a node: there is none'])
  expect(adviceOf(needFor(aBigModel(30)), [aGpuNode([gpu(0, 24)])])).toEqual(['add a node with 30.0 GiB of free VRAM'])
  expect(adviceOf(needFor(aModel({ engine: 'vllm' })), [aGpuNode([])])).toEqual(['add a node with a GPU'])
})

test('a refusal says in words what was needed and what there is', () => {
  const refusal = {
    nodeId: 'n',
    nodeName: 'thor',
    filter: 'memory',
    needed: 20 * GIB,
    available: 3 * GIB,
    where: 'gpu 0',
  }
  expect(describeRefusal({ ...refusal, filter: 'memory' })).toBe('needs 20.0 GiB on gpu 0, 3.0 GiB are free')
  expect(describeRefusal({ ...refusal, filter: 'slot', needed: 2, available: 1 })).toBe(
    'has 1 slot for each model, this would be replica 2',
  )
})

test('an explanation has every node, what runs there, and where the next would go', () => {
  const nodes = [aGpuNode([gpu(0, 24)], { id: 'thor' }), aNode({ id: 'bare', engines: { llama }, totalRam: 4 * GIB })]
  const model = aBigModel(10)
  const replicas = [
    aReplica({
      nodeId: 'thor',
      claim: claimOn({ 0: 10 }),
      measured: { devices: [{ index: 0, bytes: 9 * GIB }], ram: GIB },
    }),
    aReplica({ nodeId: 'bare', state: 'failed', error: 'no', failures: 1, retryAtMs: 3000 }),
    aTenant({ id: 'tenant', nodeId: 'thor', claim: claimOn({ 0: 12 }) }),
  ]
  const demands = [{ modelName: 'm', sinceMs: 7, wantedUntilMs: 5000 }]
  const world = aWorld({ nodes, models: [model], rules: [aRule({ minReplicas: 2 })], replicas, demands })
  const explanation = explainModel(world, 'm', 'spread')!
  expect(explanation).toMatchObject({ modelName: 'm', wanted: { min: 2, max: 0 }, wantedSinceMs: 7, next: null })
  expect(explanation.memory).toEqual([
    { deviceKind: 'card 24', source: 'explicit', vram: 10 * GIB, ram: 0, share: null, parts: null },
    { deviceKind: 'cpu', source: 'explicit', vram: 0, ram: 10 * GIB, share: null, parts: null },
  ])
  expect(explanation.nodes).toMatchObject([
    { nodeName: 'bare', replicas: [{ key: 'm#0', error: 'no' }], refusal: { text: 'failed once, next try in 2 s' } },
    {
      nodeName: 'thor',
      replicas: [{ key: 'm#0', claimed: 10 * GIB, measured: 10 * GIB }],
      refusal: { filter: 'slot' },
    },
  ])
  const wider = { ...world, nodes: [{ ...nodes[0]!, maxReplicasPerModel: 2 }] }
  expect(explainModel(wider, 'm', 'spread')).toMatchObject({ next: null, advice: ['free 7.0 GiB on gpu 0 of thor'] })
  expect(explainModel(world, 'nothing', 'spread')).toBeUndefined()
})
