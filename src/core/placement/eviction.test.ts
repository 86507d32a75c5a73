import { describe, expect, test } from 'vitest'
import { aModel, aNode, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import type { Replica, World } from '../types.ts'
import { evictables } from './eviction.ts'
import { aBigModel, aGpuNode, aTenant, claimOn, GIB, gpu, gpus, needFor, placeOn } from './scene-suite.ts'

const NOW_MS = 1_000_000

function worldOf(replicas: readonly Replica[], fields: Partial<World> = {}): World {
  return aWorld({ nowMs: NOW_MS, rules: [], replicas, ...fields })
}

/** Ready for an hour, idle for a minute. */
function idle(fields: Partial<Replica> = {}): Replica {
  return aReplica({ readySinceMs: NOW_MS - 3_600_000, lastUsedMs: NOW_MS - 60_000, ...fields })
}

const ago = (seconds: number): number => NOW_MS - seconds * 1000

describe('what may be stopped for others', () => {
  test.for([
    ['idle for a minute', {}, true],
    ['busy', { inFlight: 1 }, false],
    ['starting', { state: 'loading' as const, readySinceMs: null }, false],
    ['new, and idle for less than ten seconds', { readySinceMs: ago(20), lastUsedMs: ago(9) }, false],
    ['new, and idle for ten seconds', { readySinceMs: ago(20), lastUsedMs: ago(10) }, true],
    ['there for thirty seconds, between two requests', { readySinceMs: ago(30), lastUsedMs: ago(0) }, true],
    ['never used and just ready', { readySinceMs: ago(5), lastUsedMs: null }, false],
  ] as const)('%s', ([, fields, isNow]) => {
    const regret = evictables(worldOf([idle({ id: 'a', ...fields })])).get('a')
    expect(regret! < Infinity).toBe(isNow)
  })

  test('not what ends, has failed, or is of an old revision: that is for others to decide', () => {
    const states = ['draining', 'stopping', 'failed'] as const
    const replicas = states.map((state, replicaIndex) => idle({ state, replicaIndex }))
    expect(evictables(worldOf([...replicas, idle({ revision: 'r0', replicaIndex: 9 })])).size).toBe(0)
  })

  test('one that a client waits for has its thirty seconds, however idle', () => {
    const fresh = idle({ id: 'a', readySinceMs: ago(29), lastUsedMs: null })
    const demand = { modelName: 'm', sinceMs: 0, wantedUntilMs: NOW_MS + 1 }
    expect(evictables(worldOf([fresh])).get('a')).toBeLessThan(Infinity)
    expect(evictables(worldOf([fresh], { demands: [demand] })).get('a')).toBe(Infinity)
    expect(evictables(worldOf([fresh], { demands: [{ ...demand, wantedUntilMs: NOW_MS }] })).get('a')).toBeLessThan(
      Infinity,
    )
  })

  test('never so many that less is left than a rule asks for; one that only starts does not count', () => {
    const replicas = [60, 600, 6].map((seconds, i) => idle({ id: `r${i}`, replicaIndex: i, lastUsedMs: ago(seconds) }))
    const rules = [aRule({ minReplicas: 2 })]
    expect([...evictables(worldOf(replicas, { rules })).keys()]).toEqual(['r1'])
    const starting = idle({ id: 'new', replicaIndex: 3, state: 'loading' })
    const [first, second] = replicas
    expect(evictables(worldOf([first!, second!, starting], { rules }))).toEqual(new Map([['r1', Infinity]]))
    expect(evictables(worldOf([first!, second!], { rules })).size).toBe(0)
  })

  test.for([
    ['is drained', aNode({ id: 'n2', desired: 'draining' as const })],
    ['has not the labels that the rule asks for', aNode({ id: 'n2', labels: { tier: 'slow' } })],
  ] as const)('one on a node that %s keeps no minimum', ([, n2]) => {
    const replicas = [idle({ id: 'a', nodeId: 'n1' }), idle({ id: 'b', nodeId: 'n2' })]
    const rules = [aRule({ minReplicas: 1, nodeSelector: { tier: '!slow' } })]
    const nodes = [aNode({ id: 'n1' }), n2]
    expect([...evictables(worldOf(replicas, { rules, nodes })).keys()]).toEqual(['b'])
    expect([...evictables(worldOf(replicas, { rules, nodes: nodes.slice(0, 1) })).keys()]).toHaveLength(1)
  })

  test('what was idle longest is regretted least, then what is loaded again with the fewest bytes', () => {
    const replicas = [
      idle({ id: 'lately', lastUsedMs: ago(20) }),
      idle({ id: 'large', modelName: 'large', lastUsedMs: ago(1000) }),
      idle({ id: 'small', modelName: 'small', lastUsedMs: ago(900) }),
      idle({ id: 'claimed', modelName: 'claimed', lastUsedMs: ago(950), claim: claimOn({ 0: 4 }, { ram: GIB }) }),
    ]
    const models = ['m', 'large', 'small', 'claimed'].map((name) => aModel({ name }))
    const facts = [20, 2].map((gib, i) => ({
      modelName: ['large', 'small'][i]!,
      revision: 'r1',
      payloadBytes: gib * GIB,
      header: null,
    }))
    const regrets = evictables(worldOf(replicas, { models, facts }))
    const order = [...regrets.keys()].toSorted((a, b) => regrets.get(a)! - regrets.get(b)!)
    expect(order).toEqual(['small', 'claimed', 'large', 'lately'])
  })
})

describe('which ones are stopped', () => {
  const node = aGpuNode(gpus(1, 24), { id: 'n1', maxReplicasPerModel: 1 })
  const tenants = [4, 10, 8].map((gib, i) => aTenant({ id: `t${i}`, modelName: `t${i}`, claim: claimOn({ 0: gib }) }))
  const idsOf = (replicas: readonly Replica[]): string[] => replicas.map(({ id }) => id)

  test('one large rather than two small, and the least regretted of those that do alone', () => {
    const evictable = new Map([
      ['t0', 0],
      ['t1', 9],
      ['t2', 5],
    ])
    const eight = placeOn(needFor(aBigModel(8)), [node], tenants, { evictable })
    expect(eight.ok && idsOf(eight.victims)).toEqual(['t2'])
    const twelve = placeOn(needFor(aBigModel(12)), [node], tenants, { evictable })
    expect(twelve.ok && idsOf(twelve.victims)).toEqual(['t1'])
    const fourteen = placeOn(needFor(aBigModel(14)), [node], tenants, { evictable })
    expect(fourteen.ok && idsOf(fourteen.victims)).toEqual(['t0', 't2'])
  })

  test('those that end already are waited for before anybody is stopped', () => {
    const [a, b, c] = tenants
    const evictable = new Map([['t1', 0]])
    const placement = placeOn(
      needFor(aBigModel(9)),
      [node],
      [{ ...a!, state: 'stopping' }, b!, { ...c!, state: 'draining' }],
      {
        evictable,
      },
    )
    expect(placement).toMatchObject({ ok: true, victims: [], waitsFor: [{ id: 't2' }] })
  })

  test('while the memory reading still counts ended ones, their room is waited for and none is stopped', () => {
    const read = aGpuNode([gpu(0, 24, { availableVram: 2 * GIB })], { id: 'n1' })
    const freed = [{ replicaId: 'gone', devices: [{ index: 0, bytes: 4 * GIB }], ram: 0 }]
    const evictable = new Map([['t1', 0]])
    const left = tenants.slice(1)
    const need = needFor(aBigModel(5))
    expect(placeOn(need, [read], left, { evictable })).toMatchObject({ ok: true, victims: [{ id: 't1' }] })
    const waits = { ok: true, isNow: false, nodeId: 'n1', victims: [], waitsFor: [] }
    expect(placeOn(need, [{ ...read, freed }], left, { evictable })).toMatchObject(waits)
    expect(placeOn(need, [{ ...read, freed }], [], { evictable })).toMatchObject(waits)
    // Of one that is too large all the same, as few as it takes with that room.
    const more = placeOn(needFor(aBigModel(13)), [{ ...read, freed }], left, { evictable })
    expect(more).toMatchObject({ ok: true, isNow: false, victims: [{ id: 't1' }] })
  })

  test('none on a node that refuses for another reason, or where it would not be enough', () => {
    const evictable = new Map([['t1', 0]])
    expect(placeOn(needFor(aBigModel(20)), [node], tenants, { evictable })).toMatchObject({ ok: false })
    const away = { ...node, liveness: 'unreachable' as const }
    expect(placeOn(needFor(aBigModel(9)), [away], tenants, { evictable })).toMatchObject({ ok: false })
  })

  test('never one of the same model, unless of an old revision', () => {
    const twin = aReplica({ id: 'twin', nodeId: 'n1', claim: claimOn({ 0: 20 }) })
    const evictable = new Map([['twin', 0]])
    const roomy = { ...node, maxReplicasPerModel: 2 }
    expect(placeOn(needFor(aBigModel(9)), [roomy], [twin], { evictable })).toMatchObject({ ok: false, isBusy: false })
    const old = { ...twin, revision: 'r0' }
    expect(placeOn(needFor(aBigModel(9)), [node], [old], { evictable })).toMatchObject({
      ok: true,
      replicaIndex: 0,
      victims: [{ id: 'twin' }],
    })
  })

  test('never an idle sibling for its slot: the one that comes would be no more than the one that goes', () => {
    const sibling = aReplica({ id: 'sibling', nodeId: 'n1', replicaIndex: 1 })
    const evictable = new Map([['sibling', 0]])
    const placement = placeOn(needFor(aBigModel(1)), [{ ...node, maxReplicasPerModel: 1 }], [sibling], { evictable })
    expect(placement).toMatchObject({ ok: false, refusals: [{ filter: 'slot' }], isBusy: false })
  })

  test('files of an old revision that goes stay on the disk', () => {
    const full = aNode({ id: 'n1', availableDisk: 2 * GIB })
    const facts = { modelName: 'm', revision: 'r1', payloadBytes: 5 * GIB, header: null }
    const old = aReplica({ id: 'old', revision: 'r0' })
    const placement = placeOn(needFor(aModel(), { facts }), [full], [old], { evictable: new Map([['old', 0]]) })
    expect(placement).toMatchObject({ ok: true, victims: [{ id: 'old' }], claim: { disk: 0 } })
  })

  test('the node with the fewest, then the least regretted victims', () => {
    const nodes = [node, { ...node, id: 'n2', name: 'n2' }, { ...node, id: 'n3', name: 'n3' }]
    const alone = ['n2', 'n3'].map((nodeId) => aTenant({ id: nodeId, nodeId, claim: claimOn({ 0: 22 }) }))
    const evictable = new Map([
      ['t0', 0],
      ['t1', 0],
      ['t2', 0],
      ['n2', 7],
      ['n3', 6],
    ])
    const placement = placeOn(needFor(aBigModel(20)), nodes, [...tenants, ...alone], { evictable })
    expect(placement).toMatchObject({ ok: true, nodeId: 'n3', victims: [{ id: 'n3' }] })
  })

  test('with very many candidates none is stopped that can be spared', () => {
    const many = Array.from({ length: 40 }, (_, i) =>
      aTenant({ id: `t${i}`, modelName: `t${i}`, claim: claimOn({ 0: 0.5 }) }),
    )
    const evictable = new Map(many.map(({ id }, i) => [id, i]))
    const placement = placeOn(needFor(aBigModel(10)), [node], many, { evictable })
    expect(placement.ok && placement.victims).toHaveLength(12)
  })

  test('it is busy when replicas that may be stopped cannot be yet, and only then', () => {
    const later = new Map([['t1', Infinity]])
    expect(placeOn(needFor(aBigModel(11)), [node], tenants, { evictable: later })).toMatchObject({
      ok: false,
      isBusy: true,
    })
    expect(placeOn(needFor(aBigModel(20)), [node], tenants, { evictable: later })).toMatchObject({ isBusy: false })
    expect(placeOn(needFor(aBigModel(11)), [node], tenants)).toMatchObject({ ok: false, isBusy: false })
  })
})
