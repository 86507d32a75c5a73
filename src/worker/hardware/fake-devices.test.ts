import { describe, expect, test } from 'vitest'
import { builtInProfiles } from '../engines/built-in.ts'
import { FakeDevices, type Pretender } from './fake-devices.ts'
import { GIB } from './machine-suite.ts'

const text = JSON.stringify([
  { name: 'Pretended 24', total_vram: 24 * GIB },
  { name: 'Pretended 8', total_vram: 8 * GIB, unified: true, usable_vram: 6 * GIB },
])
const machine = {
  gpu_vendor: null,
  devices: [],
  total_ram: 64 * GIB,
  available_ram: 60 * GIB,
  total_disk: 1,
  available_disk: 1,
}

function someDevices(): FakeDevices {
  return FakeDevices.from({ FLOTILLA_FAKE_DEVICES: text })!
}

function aReplica(fields: {
  pid?: number
  state?: string
  engine?: string
  gib?: number
  devices?: number[]
}): Pretender {
  const { engine = 'sim', gib = 4, devices, state = 'ready' } = fields
  return { spec: { engine, options: { memory_bytes: gib * GIB }, devices }, state, pid: fields.pid }
}

test('a node without the variable has no such devices', () => {
  expect(FakeDevices.from({})).toBeUndefined()
  expect(FakeDevices.from({ FLOTILLA_FAKE_DEVICES: '' })).toBeUndefined()
})

test.each(['x', '[]', '{}', '[{"name":"a"}]', '[{"name":"a","total_vram":-1}]', '[{"name":"a","total_vram":1,"b":2}]'])(
  'a list that is none is refused: %s',
  (value) => {
    expect(() => FakeDevices.from({ FLOTILLA_FAKE_DEVICES: value })).toThrow('must be a JSON list of devices, such as')
  },
)

test('they take the place of the machine’s own, less what simulated engines declare on them', () => {
  const replicas = [
    aReplica({ pid: 1, gib: 4, devices: [0] }),
    aReplica({ pid: 2, gib: 6, devices: [0, 1] }),
    aReplica({ pid: 3, engine: 'llama-server', devices: [0] }),
    aReplica({ state: 'failed', devices: [0] }),
    aReplica({ pid: 4, devices: [] }),
    aReplica({ pid: 5 }),
  ]
  const told = someDevices().onto(machine, replicas)
  expect(told).toMatchObject({ gpu_vendor: 'nvidia', total_ram: machine.total_ram })
  expect(told.devices).toMatchObject([
    { index: 0, name: 'Pretended 24', total_vram: 24 * GIB, available_vram: 17 * GIB, unified: false },
    { index: 1, name: 'Pretended 8', total_vram: 8 * GIB, available_vram: 5 * GIB, unified: true },
  ])
})

test('a process holds what its engine declares', async () => {
  const replicas = [aReplica({ pid: 2, gib: 6, devices: [0, 1] }), aReplica({ pid: 3, devices: [] })]
  expect(
    await someDevices()
      .vramOf(() => replicas)
      .read(machine, [2, 3]),
  ).toEqual([
    { pid: 2, index: 0, bytes: 3 * GIB },
    { pid: 2, index: 1, bytes: 3 * GIB },
  ])
})

test('the simulated engine needs a GPU there, and what it declares is all it takes', () => {
  const profiles = someDevices().profilesFrom(builtInProfiles)
  expect(profiles.find(({ name }) => name === 'sim')).toMatchObject({
    memory: 'on_load',
    uses: { device: 'gpu', bytes: 0, bytes_option: 'memory_bytes' },
  })
  expect(profiles.filter(({ name }) => name !== 'sim')).toEqual(builtInProfiles.filter(({ name }) => name !== 'sim'))
})

describe('a simulated engine is told above what it runs out of memory', () => {
  const limitOf = (own: Pretender, ...others: Pretender[]): number | undefined => {
    const limit = someDevices().environmentFor(own.spec, [own, ...others])['SIM_OUT_OF_MEMORY_ABOVE']
    return limit === undefined ? undefined : Number(limit)
  }

  test('by what can really be had of its devices and others have left, its own share not counted', () => {
    const own = aReplica({ state: 'loading', gib: 5, devices: [0] })
    expect(limitOf(own)).toBe(24 * GIB)
    expect(limitOf(own, aReplica({ pid: 1, gib: 4, devices: [0] }))).toBe(20 * GIB)
    expect(limitOf(own, aReplica({ state: 'loading', gib: 30, devices: [0] }))).toBe(0)
    expect(limitOf(aReplica({ state: 'loading', devices: [0, 1] }))).toBe(12 * GIB)
  })

  test('and not at all when it is on none, or is another engine', () => {
    expect(limitOf(aReplica({ devices: [] }))).toBeUndefined()
    expect(limitOf(aReplica({}))).toBeUndefined()
    expect(limitOf(aReplica({ devices: [7] }))).toBeUndefined()
    expect(limitOf(aReplica({ engine: 'vllm', devices: [0] }))).toBeUndefined()
  })
})
