import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aClaim, aModel, aNode, aReplica } from '../../../test/support/builders.ts'
import { isEnding } from '../lifecycle/states.ts'
import { replicaStates, type Device, type Model, type Node, type Replica } from '../types.ts'
import { fitsByForce, subsetsOf } from './brute-suite.ts'
import { Fleet } from './fleet.ts'
import { place } from './place.ts'
import { claimRefusal } from './refusals.ts'
import { GIB, llama, needFor } from './scene-suite.ts'
import type { Need } from '../memory/types.ts'
import type { PlacePolicy } from './types.ts'

interface Scene {
  need: Need
  nodes: Node[]
  replicas: Replica[]
  models: Model[]
  policy: PlacePolicy
  evictable: Map<string, number>
}

const gib = (most: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: most }).map((n) => n * GIB)
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { nil: null, freq: 1 })

const arbitraryDevice = fc
  .record({ totalVram: gib(8), availableVram: maybe(gib(8)), unified: fc.boolean() })
  .map((fields): Omit<Device, 'index'> => ({ name: 'card', ...fields }))

const arbitraryNode = fc
  .record({
    devices: fc.array(arbitraryDevice, { maxLength: 3 }),
    isUp: fc.integer({ min: 0, max: 5 }).map((n) => n > 0),
    slots: fc.integer({ min: 1, max: 2 }),
    vramBudget: maybe(gib(12)),
    totalRam: maybe(gib(24)),
    availableRam: maybe(gib(24)),
    freed: fc.array(fc.record({ device: fc.nat(2), bytes: gib(5), ram: gib(3) }), { maxLength: 1 }),
  })
  .map(({ devices, isUp, slots, freed, ...fields }) =>
    aNode({
      ...fields,
      devices: devices.map((device, index) => ({ index: index * 2, ...device })),
      freed: freed.map(({ device, bytes, ram }) => ({
        replicaId: 'gone',
        devices: [{ index: device * 2, bytes }],
        ram,
      })),
      liveness: isUp ? 'online' : 'unreachable',
      maxReplicasPerModel: slots,
      engines: { llama },
    }),
  )

const arbitraryReplica = fc.record({
  node: fc.nat(2),
  model: fc.nat(2),
  replicaIndex: fc.nat(1),
  state: fc.constantFrom(...replicaStates.filter((state) => state !== 'stopping'), 'ready' as const, 'ready' as const),
  isOld: fc.boolean(),
  bytes: fc.array(gib(5), { maxLength: 3 }),
  ram: gib(4),
  alone: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
  isMeasured: fc.boolean(),
  seen: gib(5),
  regret: fc.option(fc.constantFrom(0, 1, 2.5, 3, Infinity), { freq: 3 }),
})

const arbitraryScene: fc.Arbitrary<Scene> = fc
  .record({
    nodes: fc.array(arbitraryNode, { minLength: 1, maxLength: 3 }),
    replicas: fc.array(arbitraryReplica, { maxLength: 7 }),
    memory: maybe(fc.record({ vram: gib(14), ram: gib(4) })),
    policy: fc.constantFrom<PlacePolicy>('spread', 'pack'),
  })
  .map(({ nodes: unnamed, replicas, memory, policy }) => {
    const nodes = unnamed.map((node, i) => ({ ...node, id: `n${i}`, name: `n${i}` }))
    const models = ['m0', 'm1', 'm2'].map((name) => aModel({ name, engine: 'llama', memory }))
    const slots = new Map<string, Replica>()
    const evictable = new Map<string, number>()
    for (const { node: at, model, replicaIndex, bytes, ram, alone, seen, regret, ...fields } of replicas) {
      const node = nodes[at]
      if (!node) continue
      const id = `${at} ${model} ${replicaIndex}`
      const devices = bytes.slice(0, node.devices.length).map((one, i) => ({ index: i * 2, bytes: one }))
      const measured = { devices: devices.map(({ index }) => ({ index, bytes: seen })), ram: seen }
      slots.set(id, {
        ...aReplica({ id, nodeId: node.id, modelName: `m${model}`, replicaIndex, state: fields.state }),
        revision: fields.isOld ? 'r0' : 'r1',
        claim: aClaim({ devices, ram, alone }),
        measured: fields.isMeasured ? measured : null,
      })
      if (regret !== null && fields.state === 'ready') evictable.set(id, regret)
    }
    return { need: needFor(models[0]!), nodes, replicas: [...slots.values()], models, policy, evictable }
  })

function decide({ need, nodes, replicas, models, policy, evictable }: Scene) {
  return place(need, new Fleet(nodes, replicas, models), { policy, evictable })
}

const runs = { numRuns: 2000 }

test('if any node can take it as things are, one is found; and none is found that cannot', () => {
  fc.assert(
    fc.property(arbitraryScene, (scene) => {
      const placement = decide(scene)
      const able = scene.nodes.filter((node) => fitsByForce(scene.need, node, scene.replicas)).map(({ id }) => id)
      if (placement.ok && placement.isNow) {
        expect(able).toContain(placement.nodeId)
      } else expect(able).toEqual([])
      const refused = placement.refusals.map(({ nodeId }) => nodeId)
      expect(refused).toEqual(scene.nodes.map(({ id }) => id).filter((id) => !able.includes(id)))
    }),
    runs,
  )
})

test('a brief search gives the same place', () => {
  fc.assert(
    fc.property(arbitraryScene, (scene) => {
      const { need, nodes, replicas, models, policy, evictable } = scene
      const options = { policy, evictable, isBrief: true }
      const { refusals, ...brief } = place(need, new Fleet(nodes, replicas, models), options)
      const { refusals: all, ...full } = decide(scene)
      expect(brief).toEqual(full)
      expect(all).toEqual(expect.arrayContaining([...refusals]))
      if (!brief.ok || !brief.isNow) expect(refusals).toEqual(all)
    }),
    runs,
  )
})

test('what is placed at once can be claimed, and its slot is free', () => {
  fc.assert(
    fc.property(arbitraryScene, (scene) => {
      const placement = decide(scene)
      if (!placement.ok || !placement.isNow) return
      const fleet = new Fleet(scene.nodes, scene.replicas, scene.models)
      expect(claimRefusal(fleet, placement.nodeId, placement.claim)).toBeUndefined()
      const taken = fleet
        .replicasOn(placement.nodeId)
        .filter(({ modelName }) => modelName === scene.need.model.name)
        .map(({ replicaIndex }) => replicaIndex)
      expect(taken).not.toContain(placement.replicaIndex)
      const { maxReplicasPerModel } = scene.nodes.find(({ id }) => id === placement.nodeId)!
      expect(placement.replicaIndex).toBeLessThan(maxReplicasPerModel)
    }),
    runs,
  )
})

test('victims are idle, on one node, enough, as few as possible, and none of them can be spared', () => {
  fc.assert(
    fc.property(arbitraryScene, (scene) => {
      const { need, nodes, replicas, evictable } = scene
      const placement = decide(scene)
      const endingOn = (node: Node): Replica[] =>
        replicas.filter((one) => one.nodeId === node.id && isEnding(one.state))
      const mayGo = (one: Replica): boolean =>
        (evictable.get(one.id) ?? Infinity) < Infinity && (one.modelName !== 'm0' || one.revision === 'r0')
      const fewest = Math.min(
        ...nodes.flatMap((node) =>
          subsetsOf(replicas.filter((one) => one.nodeId === node.id && mayGo(one)))
            .filter((gone) => fitsByForce(need, node, replicas, [...gone, ...endingOn(node)]))
            .map((gone) => gone.length),
        ),
      )
      expect(placement.ok).toBe(fewest < Infinity)
      if (!placement.ok) return
      const { victims, waitsFor, nodeId } = placement
      expect(victims).toHaveLength(fewest)
      const node = nodes.find(({ id }) => id === nodeId)!
      expect(victims.every((one) => one.nodeId === nodeId && mayGo(one))).toBe(true)
      expect(fitsByForce(need, node, replicas, [...victims, ...waitsFor])).toBe(true)
      for (const one of [...victims, ...waitsFor]) {
        const others = [...victims, ...waitsFor].filter((other) => other !== one)
        expect(fitsByForce(need, node, replicas, others)).toBe(false)
      }
    }),
    runs,
  )
})

test('it is busy when more could go later, and then it fits', () => {
  fc.assert(
    fc.property(arbitraryScene, (scene) => {
      const { need, nodes, replicas, evictable } = scene
      const placement = decide(scene)
      if (placement.ok) return
      const mayGo = (one: Replica): boolean =>
        isEnding(one.state) || (evictable.has(one.id) && (one.modelName !== 'm0' || one.revision === 'r0'))
      const later = nodes.some((node) => fitsByForce(need, node, replicas, replicas.filter(mayGo)))
      expect(placement.isBusy).toBe(later)
    }),
    runs,
  )
})

test('the order in which nodes and replicas come changes nothing', () => {
  const arbitrary = arbitraryScene.chain((scene) =>
    fc.record({
      scene: fc.constant(scene),
      nodes: fc.shuffledSubarray(scene.nodes, { minLength: scene.nodes.length }),
      replicas: fc.shuffledSubarray(scene.replicas, { minLength: scene.replicas.length }),
    }),
  )
  fc.assert(
    fc.property(arbitrary, ({ scene, nodes, replicas }) => {
      expect(decide({ ...scene, nodes, replicas: structuredClone(replicas) })).toEqual(decide(scene))
    }),
    runs,
  )
})

test('however many are placed one after another: slots, devices and budgets are never exceeded', () => {
  const arbitrary = fc.record({
    nodes: fc.array(arbitraryNode, { minLength: 1, maxLength: 3 }),
    needs: fc.array(fc.record({ model: fc.nat(2), vram: gib(9), ram: gib(3) }), { maxLength: 20 }),
    policy: fc.constantFrom<PlacePolicy>('spread', 'pack'),
  })
  fc.assert(
    fc.property(arbitrary, ({ nodes, needs, policy }) => {
      const fleet = new Fleet(nodes, [], [])
      for (const { model, ...memory } of needs) {
        const need = needFor(aModel({ name: `m${model}`, engine: 'llama', memory }))
        const placement = place(need, fleet, { policy })
        if (!placement.ok) continue
        const { nodeId, replicaIndex, claim } = placement
        fleet.add(aReplica({ nodeId, modelName: need.model.name, replicaIndex, claim, state: 'reserved' }))
      }
      for (const node of nodes) expect(problemsOn(node, fleet.replicasOn(node.id))).toEqual([])
    }),
    { numRuns: 500 },
  )
})

function problemsOn(node: Node, replicas: readonly Replica[]): string[] {
  const problems: string[] = []
  const slots = replicas.map(({ modelName, replicaIndex }) => `${modelName}#${replicaIndex}`)
  if (new Set(slots).size < slots.length) problems.push('two have one index')
  if (replicas.some(({ replicaIndex }) => replicaIndex >= node.maxReplicasPerModel))
    problems.push('too many for the slots')
  if (replicas.length > 0 && node.liveness !== 'online') problems.push('it is away')
  const claims = replicas.flatMap(({ claim }) => claim!.devices)
  for (const { index, totalVram } of node.devices) {
    const claimed = claims.filter((one) => one.index === index).reduce((sum, { bytes }) => sum + bytes, 0)
    if (claimed > totalVram) problems.push(`gpu ${index} is overbooked`)
  }
  const vram = claims.reduce((sum, { bytes }) => sum + bytes, 0)
  if (node.vramBudget !== null && vram > node.vramBudget) problems.push('the budget is exceeded')
  return problems
}
