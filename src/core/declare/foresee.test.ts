import { describe, expect, test } from 'vitest'
import { aClaim, aModel, aNode, aNodeEngine, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import type { Device, World } from '../types.ts'
import { impossibleNow } from './foresee.ts'
import { imagineNode } from './imagine-node.ts'
import { foresee, nodeSettings, someOverrides } from './settings-suite.ts'
import type { Change, ForeseenStep } from './types.ts'
import { worldAfter } from './world-after.ts'
import { worldIf } from './world-if.ts'

const GB = 1e9
const gpu = (fields: Partial<Device> = {}): Device => ({
  index: 0,
  name: 'gpu',
  totalVram: 24 * GB,
  availableVram: 24 * GB,
  unified: false,
  ...fields,
})
const engines = { sim: aNodeEngine({ uses: { device: 'either' } }) }
const gpuNode = (id: string, fields = {}) => aNode({ id, devices: [gpu()], engines, ...fields })
const sized = (name: string, gb: number, fields = {}) => aModel({ name, memory: { vram: gb * GB, ram: 0 }, ...fields })
/** A replica that has served for an hour, without a request. */
const idle = (modelName: string, nodeId: string, gb: number, fields = {}) =>
  aReplica({
    nodeId,
    modelName,
    claim: aClaim({ devices: [{ index: 0, bytes: gb * GB }] }),
    measured: { devices: [{ index: 0, bytes: gb * GB }], ram: 0 },
    readySinceMs: 0,
    ...fields,
  })

/** `start m#0 n1`. */
const told = (steps: readonly ForeseenStep[]): string[] =>
  steps.map((step) => {
    const { modelName, replicaIndex, nodeId } = step.kind === 'start' ? step : step.replica
    return `${step.kind} ${modelName}#${replicaIndex} ${nodeId}`
  })

describe('what follows', () => {
  test('is nothing where everything is as it should be', () => {
    const world = aWorld({ nodes: [gpuNode('n1')], models: [sized('m', 8)], replicas: [idle('m', 'n1', 8)] })
    expect(foresee(world, 'spread')).toEqual({ steps: [], impossible: [], frozen: [], isComplete: true })
  })

  test('tells where replicas go, on which device, with what claim, and how much is moved', () => {
    const facts = [{ modelName: 'm', revision: 'r1', payloadBytes: 5 * GB, header: null }]
    const models = [sized('m', 8, { source: 'hf:org/m' })]
    const nodes = [gpuNode('n1', { maxReplicasPerModel: 2 })]
    const { steps } = foresee(aWorld({ nodes, models, facts, rules: [aRule({ minReplicas: 2 })] }), 'spread')
    const claim = { devices: [{ index: 0, bytes: 8 * GB }], source: 'explicit' }
    expect(steps).toMatchObject([
      { kind: 'start', nodeId: 'n1', replicaIndex: 0, claim, bytesToMove: 5 * GB },
      // The first has brought the files.
      { kind: 'start', nodeId: 'n1', replicaIndex: 1, claim, bytesToMove: 0 },
    ])
  })

  test('says when the size of the files is unknown', () => {
    const model = sized('m', 8, { source: 'hf:org/m' })
    expect(foresee(aWorld({ nodes: [gpuNode('n1')], models: [model] }), 'spread').steps).toMatchObject([
      { kind: 'start', bytesToMove: null },
    ])
  })

  test('evicts what is idle and then starts in its place', () => {
    const world = aWorld({
      nowMs: 3_600_000,
      nodes: [gpuNode('n1', { devices: [gpu({ availableVram: 4 * GB })] })],
      models: [sized('m', 20), sized('other', 20)],
      replicas: [idle('other', 'n1', 20)],
    })
    const { steps, isComplete } = foresee(world, 'spread')
    expect(told(steps)).toEqual(['evict other#0 n1', 'start m#0 n1'])
    expect(isComplete).toBe(true)
  })

  test('restarts replicas whose model has changed', () => {
    const world = aWorld({
      nodes: [gpuNode('n1', { devices: [gpu({ availableVram: 4 * GB })] })],
      models: [sized('m', 20, { revision: 'r2' })],
      replicas: [idle('m', 'n1', 20)],
    })
    const { steps } = foresee(world, 'spread')
    expect(told(steps)).toEqual(['stop m#0 n1', 'start m#0 n1'])
    expect(steps[0]).toMatchObject({ why: 'old revision' })
  })

  test('fills a card no further than it goes, by what is read to be free as well', () => {
    const nodes = [gpuNode('n1', { devices: [gpu({ availableVram: 10 * GB })] })]
    const world = aWorld({
      nodes,
      models: [sized('a', 8), sized('b', 8)],
      rules: [aRule({ modelName: 'a' }), aRule({ modelName: 'b' })],
    })
    const { steps, impossible } = foresee(world, 'spread')
    expect(told(steps)).toEqual(['start a#0 n1'])
    expect(impossible).toMatchObject([
      { modelName: 'b', missing: 1, refusals: [{ filter: 'memory', needed: 8 * GB, available: 2 * GB }] },
    ])
  })

  test('tells what stays impossible with every node’s reason, also of a rule that waits before it is tried again', () => {
    const rules = [aRule({ unsatisfiableUntilMs: 9_999_999, unsatisfiableTicks: 3 })]
    const world = aWorld({ nodes: [gpuNode('n1'), gpuNode('n2')], models: [sized('m', 80)], rules })
    const { impossible } = foresee(world, 'spread')
    expect(impossible).toMatchObject([{ modelName: 'm', missing: 1, isBusy: false }])
    expect(impossible[0]!.refusals.map(({ nodeName }) => nodeName)).toEqual(['n1', 'n2'])
    expect(impossible[0]!.advice[0]!.text).toContain('add a node')
    expect(impossibleNow(world, 'spread')).toEqual(impossible)
  })

  test('starts nothing for the load of this minute', () => {
    const world = aWorld({
      nodes: [gpuNode('n1', { maxReplicasPerModel: 9 })],
      models: [sized('m', 1)],
      replicas: [idle('m', 'n1', 1)],
      loads: [{ modelName: 'm', busy: 1, waiting: 5 }],
    })
    expect(foresee(world, 'spread').steps).toEqual([])
  })

  test('ends, and says so, where there is too much to tell', () => {
    const names = Array.from({ length: 30 }, (_, i) => `n${i}`)
    const nodes = names.map((id) => aNode({ id, maxReplicasPerModel: 100 }))
    const world = aWorld({ nodes, rules: [aRule({ minReplicas: 2500 })] })
    const { steps } = foresee(world, 'spread')
    expect(steps).toHaveLength(2000)
  })
})

describe('the world after a document', () => {
  const change = (after = {}): Change => ({
    noun: 'node',
    name: 'n1',
    nodeId: 'n1',
    before: someOverrides(),
    after: someOverrides(after),
  })
  const declared = {
    labels: [{ key: 'rack', value: '7', source: 'worker' as const }],
    slots: 3,
    budget: '50%',
  }
  const after = (overrides: object): World['nodes'][number] => {
    const world = aWorld({ nodes: [gpuNode('n1')] })
    return worldAfter(world, { nodes: [nodeSettings('n1', {}, declared)] }, [change(overrides)]).nodes[0]!
  }

  test('has what an admin sets over what the worker declares', () => {
    const set = { labels: { rack: '8', tier: 'fast' }, slots: 2, budget: '12GB', isDraining: true }
    expect(after(set)).toMatchObject({
      labels: { rack: '8', tier: 'fast', 'node.replica-slots': '2' },
      maxReplicasPerModel: 2,
      vramBudget: 12 * GB,
      desired: 'draining',
    })
    expect(after({})).toMatchObject({ labels: { rack: '7' }, maxReplicasPerModel: 3, vramBudget: 12 * GB })
  })

  test('has models and rules as they will be; a rule starts anew and keeps its source', () => {
    const before = aRule({ source: 'config', unsatisfiableUntilMs: 9 })
    const world = aWorld({ rules: [before] })
    const { models, rules } = worldAfter(world, { nodes: [] }, [
      { noun: 'model', name: 'm', before: aModel() },
      { noun: 'model', name: 'x', after: aModel({ name: 'x' }) },
      { noun: 'rule', name: 'm', before, after: aRule({ minReplicas: 3 }) },
    ])
    expect(models).toEqual([aModel({ name: 'x' })])
    expect(rules).toEqual([aRule({ minReplicas: 3, source: 'config' })])
  })
})

describe('what if', () => {
  const world = aWorld({
    nodes: [gpuNode('n1'), gpuNode('n2'), gpuNode('n3')],
    models: [sized('m', 20)],
    replicas: [idle('m', 'n1', 20)],
  })
  const nothing = { lost: new Set<string>(), added: [], rules: [] }

  test('a machine is lost: what was on it is replaced', () => {
    const { world: other, lost, frozen } = worldIf(world, { ...nothing, lost: new Set(['n1']) })
    expect({ lost: lost.map(({ nodeId }) => nodeId), frozen }).toEqual({ lost: ['n1'], frozen: [] })
    expect(told(foresee(other, 'spread').steps)).toEqual(['start m#0 n2'])
  })

  test('most machines are lost at once: that would be taken for a broken network', () => {
    const { frozen } = worldIf(world, { ...nothing, lost: new Set(['n1', 'n2']) })
    expect(frozen.map(({ name }) => name)).toEqual(['n1', 'n2'])
  })

  test.each([
    ['24GB', 1, 24 * GB],
    ['2x24GB', 2, 24 * GB],
    ['8 x 80GiB', 8, 80 * 2 ** 30],
  ])('a machine with %s is bought', (spec, count, bytes) => {
    const node = imagineNode(world, { spec, name: 'new', labels: { tier: 'fast' } })!
    expect(node.devices).toHaveLength(count)
    expect(node.devices[0]).toMatchObject({ totalVram: bytes, name: bytes === 24 * GB ? 'gpu' : 'GPU' })
    expect(node).toMatchObject({ labels: { tier: 'fast' }, engines: { sim: { whyNot: null } } })
  })

  test('one without a GPU runs what runs without', () => {
    const cpu = imagineNode(world, { spec: 'cpu', name: 'new', labels: {} })!
    expect(cpu.devices).toEqual([])
    const bought = worldIf(aWorld({ nodes: [], models: [sized('m', 1)] }), { ...nothing, added: [cpu] })
    expect(told(foresee(bought.world, 'spread').steps)).toEqual([`start m#0 ${cpu.id}`])
  })

  test.each(['', 'x', '0x24GB', '2x', '2x0GB', '65x24GB', '-1', '2x24XB', '1e9x1GB'])('"%s" is no machine', (spec) => {
    expect(imagineNode(world, { spec, name: 'new', labels: {} })).toBeUndefined()
  })

  test('a rule asks for more than there is room for', () => {
    const rules = [aRule({ minReplicas: 4 })]
    const { steps, impossible } = foresee(worldIf(world, { ...nothing, rules }).world, 'spread')
    expect(told(steps)).toEqual(['start m#0 n2', 'start m#0 n3'])
    expect(impossible).toMatchObject([{ modelName: 'm', missing: 1 }])
  })
})
