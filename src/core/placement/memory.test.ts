import { describe, expect, test } from 'vitest'
import { aModel, aNode, aReplica } from '../../../test/support/builders.ts'
import { Fleet } from './fleet.ts'
import { reservedOn } from './holding.ts'
import { claimRefusal } from './refusals.ts'
import { aBigModel, aGpuNode, aTenant, claimOn, GIB, gpu, gpus, needFor, placeOn } from './scene-suite.ts'
import type { Placement } from './types.ts'

/** Where it goes, as `index:GiB`. */
function devicesOf(placement: Placement): string {
  if (!placement.ok) return 'none'
  return placement.claim.devices.map(({ index, bytes }) => `${index}:${bytes / GIB}`).join(' ')
}

describe('devices', () => {
  test('one that fits is enough: the roomiest when spreading, the tightest when packing', () => {
    const node = aGpuNode([gpu(0, 24), gpu(1, 80), gpu(2, 48)], { id: 'n1' })
    const need = needFor(aBigModel(20))
    expect(devicesOf(placeOn(need, [node]))).toBe('1:20')
    expect(devicesOf(placeOn(need, [node], [], { policy: 'pack' }))).toBe('0:20')
  })

  test('as few as hold it, in equal parts', () => {
    const node = aGpuNode(gpus(8, 80), { id: 'n1' })
    expect(devicesOf(placeOn(needFor(aBigModel(150)), [node]))).toBe('0:75 1:75')
    const taken = [aTenant({ claim: claimOn({ 0: 10 }) })]
    expect(devicesOf(placeOn(needFor(aBigModel(150)), [node], taken))).toBe('1:75 2:75')
  })

  test('are known by their index, not by their place in the list', () => {
    const node = aGpuNode([gpu(3, 24), gpu(7, 24)], { id: 'n1' })
    const taken = [aTenant({ claim: claimOn({ 3: 20 }) })]
    expect(devicesOf(placeOn(needFor(aBigModel(20)), [node], taken))).toBe('7:20')
  })

  test('an engine that takes a share is charged that of each, on as many as it was told to take', () => {
    const node = aGpuNode(gpus(4, 80), { id: 'n1' })
    const model = aModel({ engine: 'vllm', options: { tensor_parallel_size: 2 } })
    expect(devicesOf(placeOn(needFor(model), [node]))).toBe('0:72 1:72')
    const taken = [aTenant({ claim: claimOn({ 0: 9, 1: 9, 2: 9 }) })]
    const refusal = { filter: 'memory', where: '2 gpus', needed: 144 * GIB, available: 143 * GIB }
    expect(placeOn(needFor(model), [node], taken).refusals).toMatchObject([refusal])
  })

  test('more than a node has are refused by number', () => {
    const model = aModel({ engine: 'vllm', options: { tensor_parallel_size: 4 } })
    const refusal = { filter: 'memory', needed: '4 gpus', available: '2 gpus' }
    expect(placeOn(needFor(model), [aGpuNode(gpus(2, 80))]).refusals).toMatchObject([refusal])
    expect(placeOn(needFor(model), [aGpuNode([])]).refusals).toMatchObject([
      { filter: 'engine', available: 'the node has no GPU' },
    ])
  })

  test('what is short is told where least is missing', () => {
    const node = aGpuNode(gpus(2, 24), { id: 'n1' })
    const [full] = placeOn(needFor(aBigModel(30)), [node], [aTenant({ claim: claimOn({ 0: 14 }) })]).refusals
    expect(full).toMatchObject({ where: '2 gpus', needed: 30 * GIB, available: 25 * GIB })
    const [one] = placeOn(needFor(aBigModel(25)), [aGpuNode([gpu(5, 24)])]).refusals
    expect(one).toMatchObject({ where: 'gpu 5', needed: 25 * GIB, available: 24 * GIB })
  })

  test("a node's budget holds for all of them together", () => {
    const node = aGpuNode(gpus(2, 24), { id: 'n1', vramBudget: 30 * GIB })
    const taken = [aTenant({ claim: claimOn({ 0: 20 }) })]
    expect(devicesOf(placeOn(needFor(aBigModel(10)), [node], taken))).toBe('1:10')
    expect(placeOn(needFor(aBigModel(11)), [node], taken).refusals).toMatchObject([
      { where: 'vram budget', needed: 11 * GIB, available: 10 * GIB },
    ])
  })
})

describe('what is free', () => {
  const need = needFor(aBigModel(12))
  const tenant = { claim: claimOn({ 0: 14 }) }
  const measured = { devices: [{ index: 0, bytes: 8 * GIB }], ram: 0 }

  test('is not what a starting replica will take, though nothing of it can be read yet', () => {
    const node = aGpuNode([gpu(0, 24, { availableVram: 24 * GIB })], { id: 'n1' })
    expect(placeOn(need, [node], [aTenant({ ...tenant, state: 'loading' })]).refusals).toMatchObject([
      { where: 'gpu 0', available: 10 * GIB },
    ])
  })

  test('a claim ends when the replica serves and was measured, if its engine takes nothing more', () => {
    const node = aGpuNode([gpu(0, 24, { availableVram: 16 * GIB })], { id: 'n1' })
    expect(placeOn(need, [node], [aTenant({ ...tenant, measured })])).toMatchObject({ ok: true })
    expect(placeOn(need, [node], [aTenant({ ...tenant, measured, state: 'loading' })])).toMatchObject({ ok: false })
    const model = aModel({ name: 'tenant', engine: 'vllm' })
    const models = { models: [model, need.model] }
    expect(placeOn(need, [node], [aTenant({ ...tenant, measured })], models)).toMatchObject({ ok: false })
    expect(reservedOn(node, [aTenant({ ...tenant, nodeId: 'n1', measured })], [model])).toMatchObject({
      vram: 14 * GIB,
    })
  })

  test('a claim holds while all that was measured was measured as it loaded', () => {
    const node = aGpuNode([gpu(0, 24, { availableVram: 16 * GIB })], { id: 'n1' })
    const early = { ...measured, loaded: false }
    expect(placeOn(need, [node], [aTenant({ ...tenant, measured: early })])).toMatchObject({ ok: false })
    const late = { ...measured, loaded: true }
    expect(placeOn(need, [node], [aTenant({ ...tenant, measured: late })])).toMatchObject({ ok: true })
  })

  test('a claim of which nothing could be measured on its device holds', () => {
    const node = aGpuNode([gpu(0, 24)], { id: 'n1' })
    const replica = aTenant({ ...tenant, measured: { devices: null, ram: 5 } })
    expect(placeOn(need, [node], [replica])).toMatchObject({ ok: false })
    expect(reservedOn(node, [replica], [aBigModel(1, { name: 'tenant' })])).toEqual({
      byDevice: [14 * GIB],
      vram: 14 * GIB,
      ram: 0,
    })
  })

  test('is less where something else runs on the card', () => {
    const node = aGpuNode([gpu(0, 24, { availableVram: 11 * GIB })])
    expect(placeOn(need, [node]).refusals).toMatchObject([{ where: 'gpu 0', available: 11 * GIB }])
  })

  test('a failed replica holds nothing but its slot', () => {
    const node = aGpuNode([gpu(0, 24)], { id: 'n1' })
    const failed = aTenant({ ...tenant, measured, state: 'failed' })
    expect(placeOn(need, [node], [failed])).toMatchObject({ ok: true })
    expect(reservedOn(node, [failed], [])).toMatchObject({ vram: 0 })
  })

  test('a claim does not come back to life while its replica is drained', () => {
    const node = aGpuNode([gpu(0, 24)], { id: 'n1' })
    expect(placeOn(need, [node], [aTenant({ ...tenant, measured, state: 'draining' })])).toMatchObject({ waitsFor: [] })
  })

  test('memory that the card shares with the machine is one pool, less what the system needs', () => {
    const jetson = aGpuNode([gpu(0, 64, { unified: true })], { id: 'n1', totalRam: 64 * GIB, availableRam: 60 * GIB })
    const other = aReplica({ modelName: 'other', claim: claimOn({}, { ram: 20 * GIB }), state: 'loading' })
    const [refusal] = placeOn(needFor(aBigModel(39)), [jetson], [other]).refusals
    expect(refusal).toMatchObject({ where: 'ram', needed: 39 * GIB, available: 40 * GIB - Math.ceil(0.02 * 64 * GIB) })
    expect(devicesOf(placeOn(needFor(aBigModel(38)), [jetson], [other]))).toBe('0:38')
  })

  test('of the disk: files that are on their way to the node are taken', () => {
    const node = aNode({ id: 'n1', availableDisk: 10 * GIB, maxReplicasPerModel: 2 })
    const facts = { modelName: 'm', revision: 'r1', payloadBytes: 4 * GIB, header: null }
    const coming = aTenant({ state: 'staging', claim: claimOn({}, { disk: 6 * GIB }) })
    const need = needFor(aModel(), { facts })
    expect(placeOn(need, [node], [coming]).refusals).toMatchObject([
      { filter: 'disk', needed: 5 * GIB, available: 4 * GIB },
    ])
    expect(placeOn(need, [node], [{ ...coming, state: 'loading' }])).toMatchObject({
      ok: true,
      claim: { disk: 4 * GIB },
    })
    const same = aReplica({ nodeId: 'n1', state: 'reserved', claim: claimOn({}, { disk: 4 * GIB }) })
    expect(placeOn(need, [{ ...node, availableDisk: 5 * GIB }], [same])).toMatchObject({ claim: { disk: 0 } })
  })
})

describe('an unknown need', () => {
  const need = needFor(aModel({ engine: 'llama' }))

  test('gets a whole card without other replicas, and all that is free of it', () => {
    const node = aGpuNode([gpu(0, 24), gpu(1, 24, { availableVram: 20 * GIB })], { id: 'n1' })
    const placement = placeOn(need, [node], [aTenant({ claim: claimOn({ 0: 0 }) })])
    expect(placement).toMatchObject({ ok: true, claim: { alone: true, source: 'unknown' } })
    expect(devicesOf(placement)).toBe('1:20')
    const both = aTenant({ claim: claimOn({ 0: 1, 1: 1 }) })
    expect(placeOn(need, [node], [both]).refusals).toMatchObject([{ filter: 'memory', needed: 'an idle gpu' }])
  })

  test('keeps others away until it serves and was measured', () => {
    const node = aGpuNode([gpu(0, 24)], { id: 'n1' })
    const alone = aTenant({ claim: claimOn({ 0: 20 }, { alone: true, source: 'unknown' }) })
    expect(placeOn(needFor(aBigModel(1)), [node], [alone])).toMatchObject({ ok: false })
    const measured = { devices: [{ index: 0, bytes: 6 * GIB }], ram: 0 }
    expect(placeOn(needFor(aBigModel(18)), [node], [{ ...alone, measured }])).toMatchObject({ ok: true })
  })

  test('without a card it is by the size of its files, and alone among those that start', () => {
    const node = aGpuNode([], { id: 'n1', totalRam: 64 * GIB })
    const facts = { modelName: 'm', revision: 'r1', payloadBytes: 10 * GIB, header: null }
    expect(placeOn({ ...need, facts }, [node])).toMatchObject({ claim: { ram: 12 * GIB, alone: true } })
    const starting = aTenant({ state: 'loading', claim: claimOn({}, { ram: GIB }) })
    expect(placeOn(need, [node], [starting]).refusals).toMatchObject([{ filter: 'memory', where: 'ram' }])
    const settled = aTenant({ measured: { devices: null, ram: GIB } })
    expect(placeOn(need, [node], [settled])).toMatchObject({ ok: true, claim: { ram: 256 * 2 ** 20 } })
    const alone = aTenant({ state: 'loading', claim: claimOn({}, { ram: GIB, alone: true }) })
    expect(placeOn(needFor(aBigModel(1)), [node], [alone]).refusals).toMatchObject([
      { where: 'ram', available: 'kept for tenant#0 until it has been measured' },
    ])
  })
})

describe('a claim that is checked again', () => {
  const node = aGpuNode(gpus(2, 24), { id: 'n1', vramBudget: 40 * GIB, totalRam: 64 * GIB, availableDisk: 20 * GIB })
  const fleet = (...replicas: Parameters<Fleet['add']>[0][]): Fleet => new Fleet([node], replicas, [])

  test('is held where there is still room, and refused where another was faster', () => {
    expect(claimRefusal(fleet(), 'n1', claimOn({ 0: 20 }))).toBeUndefined()
    expect(claimRefusal(fleet(aTenant({ claim: claimOn({ 0: 5 }) })), 'n1', claimOn({ 0: 20 }))).toMatchObject({
      filter: 'memory',
      where: 'gpu 0',
      needed: 20 * GIB,
      available: 19 * GIB,
    })
  })

  test('is refused for the budget, the memory, the disk, a device or a node that is gone', () => {
    const wheres = [
      claimOn({ 0: 21, 1: 20 }),
      claimOn({}, { ram: 63 * GIB }),
      claimOn({}, { disk: 19.5 * GIB }),
      claimOn({ 5: 1 }),
    ].map((claim) => claimRefusal(fleet(), 'n1', claim))
    expect(wheres.map((refusal) => [refusal?.filter, refusal?.where])).toEqual([
      ['memory', 'vram budget'],
      ['memory', 'ram'],
      ['disk', null],
      ['memory', 'gpu 5'],
    ])
    expect(claimRefusal(fleet(), 'gone', claimOn({}))).toMatchObject({ filter: 'online', nodeId: 'gone' })
  })

  test('that must be alone is refused where another replica is, and no other may join it', () => {
    const alone = claimOn({ 0: 1 }, { alone: true })
    expect(claimRefusal(fleet(aTenant({ claim: claimOn({ 0: 1 }) })), 'n1', alone)).toMatchObject({ where: 'gpu 0' })
    expect(claimRefusal(fleet(aTenant({ claim: alone })), 'n1', claimOn({ 0: 1 }))).toMatchObject({ where: 'gpu 0' })
    const onRam = claimOn({}, { ram: 1, alone: true })
    expect(claimRefusal(fleet(aTenant({ claim: onRam })), 'n1', claimOn({}, { ram: 1 }))).toMatchObject({
      where: 'ram',
    })
    expect(claimRefusal(fleet(aTenant({ claim: null })), 'n1', onRam)).toMatchObject({ where: 'ram' })
  })
})

test('a replica that is taken away leaves the fleet as it was', () => {
  const node = aGpuNode(gpus(2, 24), { id: 'n1', totalRam: 64 * GIB, vramBudget: 40 * GIB })
  const fleet = new Fleet([node], [aTenant({ claim: claimOn({ 1: 3 }) })], [])
  const look = (): unknown => {
    const { ram, vram, disk, unsettled, alone, holders } = fleet.roomOf('n1')!
    return { free: [0, 1].map((i) => fleet.roomOf('n1')!.free[i]), ram, vram, disk, unsettled, alone, holders }
  }
  const before = structuredClone(look())
  const replica = aReplica({ id: 'a', claim: claimOn({ 0: 4, 1: 2 }, { ram: GIB, alone: true }), state: 'loading' })
  fleet.add(replica)
  expect(look()).not.toEqual(before)
  expect(fleet.replicasOn('n1').map(({ modelName }) => modelName)).toEqual(['m', 'tenant'])
  // Its row has moved on meanwhile.
  fleet.remove({ ...replica, state: 'stopping' })
  expect(look()).toEqual(before)
})
