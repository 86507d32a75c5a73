import { describe, expect, test } from 'vitest'
import { aHeader, aModel, aNode, aNodeEngine } from '../../../test/support/builders.ts'
import type { Need } from './types.ts'
import type { Device, EngineUses, LearnedMemory, Model, Node } from '../types.ts'
import { deviceKindOf, memoryOn } from './need.ts'

const GIB = 2 ** 30
const facts = { modelName: 'm', revision: 'r1', payloadBytes: 5_000_000, header: aHeader() }

const gpu = (index = 0, name = 'RTX 4090'): Device => ({
  index,
  name,
  totalVram: 24 * GIB,
  availableVram: 24 * GIB,
  unified: false,
})

function aMachine(uses: EngineUses, devices: Device[] = [gpu()], version: string | null = 'v1'): Node {
  return aNode({ devices, engines: { sim: aNodeEngine({ uses, version }) } })
}

function aNeed({ model, ...fields }: Partial<Omit<Need, 'model'>> & { model?: Partial<Model> } = {}): Need {
  return { model: aModel(model), selector: {}, facts: null, learned: [], ...fields }
}

function seen(fields: Partial<LearnedMemory> = {}): LearnedMemory {
  return {
    modelName: 'm',
    revision: 'r1',
    engineVersion: 'v1',
    deviceKind: 'RTX 4090',
    vram: 9 * GIB,
    ram: GIB,
    learnedFrom: 'measured',
    ...fields,
  }
}

const either: EngineUses = { device: 'either' }
const memory = { vram: 7 * GIB, ram: 2 * GIB }

describe('which source wins', () => {
  test('what an admin said stands above all', () => {
    const need = aNeed({ model: { memory }, learned: [seen()], facts })
    expect(memoryOn(aMachine(either), need)).toMatchObject({ source: 'explicit', ...memory, deviceCount: 1 })
    expect(memoryOn(aMachine({ device: 'gpu', bytes: 5 }), need)).toMatchObject({ source: 'explicit', ...memory })
  })

  test('then what replicas took before, on that kind of device', () => {
    const need = aNeed({ learned: [seen({ deviceKind: 'H200', vram: 1 }), seen()], facts })
    expect(memoryOn(aMachine(either), need)).toMatchObject({ source: 'learned', vram: 9 * GIB, ram: GIB })
    expect(memoryOn(aMachine(either, [gpu(0, 'T4')]), need).source).toBe('computed')
    expect(memoryOn(aMachine(either, []), need).source).toBe('computed')
  })

  test('of the very version of the engine, or else the most that another took', () => {
    const learned = [
      seen({ engineVersion: 'v0', vram: 2 * GIB }),
      seen({ engineVersion: null, vram: 5 * GIB }),
      seen({ engineVersion: 'v3', vram: 4 * GIB }),
    ]
    const vramAt = (version: string | null) => memoryOn(aMachine(either, [gpu()], version), aNeed({ learned })).vram
    expect([vramAt('v0'), vramAt('v3'), vramAt(null), vramAt('v9')]).toEqual([2 * GIB, 4 * GIB, 5 * GIB, 5 * GIB])
  })

  test('what was seen of another revision of the model, or read of its files, says nothing', () => {
    const need = aNeed({ learned: [seen({ revision: 'r0' })], facts: { ...facts, revision: 'r0' } })
    expect(memoryOn(aMachine(either), need)).toMatchObject({ source: 'unknown', vram: 0, ram: 0, deviceCount: 1 })
  })

  test('a start that ran out of memory asks for a quarter more, or for what was computed if that is even more', () => {
    const small = aNeed({ learned: [seen({ learnedFrom: 'out of memory' })], facts })
    expect(memoryOn(aMachine(either), small)).toMatchObject({ source: 'learned', vram: 11.25 * GIB, ram: 1.25 * GIB })
    const large = aNeed({ ...small, facts: { ...facts, header: aHeader({ weightsBytes: 40 * GIB }) } })
    expect(memoryOn(aMachine(either), large).source).toBe('computed')
    expect(memoryOn(aMachine(either), aNeed({ learned: small.learned })).source).toBe('learned')
  })

  test('then what the engine takes whatever the file, with what the model adds to it', () => {
    const uses: EngineUses = { device: 'either', bytes: 100, bytesOption: 'extra' }
    const need = aNeed({ model: { options: { extra: 11 } }, facts })
    expect(memoryOn(aMachine(uses), need)).toMatchObject({ source: 'computed', vram: 111, ram: 0, deviceCount: 1 })
    expect(memoryOn(aMachine(uses, []), need)).toMatchObject({ source: 'computed', vram: 0, ram: 111, deviceCount: 0 })
    expect(memoryOn(aMachine(uses), aNeed({ model: { options: { extra: 'much' } } })).vram).toBe(100)
  })

  test('then the header of the file, with what it is made of', () => {
    const need = memoryOn(aMachine(either), aNeed({ facts }))
    expect(need.source).toBe('computed')
    expect(need.vram).toBeGreaterThan(facts.header.weightsBytes)
    expect(need.vram + need.ram).toBe(Object.values(need.parts!).reduce((sum, bytes) => sum + bytes, 0))
  })

  test('and an unknown need is said to be unknown', () => {
    const unknown = { source: 'unknown', vram: 0, ram: 0, share: null, parts: null }
    expect(memoryOn(aMachine(either), aNeed())).toEqual({ ...unknown, deviceCount: 1 })
    expect(memoryOn(aMachine(either, []), aNeed())).toEqual({ ...unknown, deviceCount: 0 })
  })
})

describe('where it runs', () => {
  test.each<[string, EngineUses, Device[], Model['options'], number]>([
    ['an engine for CPUs beside a GPU', { device: 'cpu' }, [gpu()], {}, 0],
    ['an engine for both without a GPU', either, [], {}, 0],
    ['an engine for both that offloads nothing', either, [gpu()], { n_gpu_layers: 0 }, 0],
    ['an engine for both that is told to use none', either, [gpu()], { gpu: 'off' }, 0],
    ['an engine for both', either, [gpu()], {}, 1],
    ['an engine for GPUs where there is none', { device: 'gpu' }, [], {}, 1],
  ])('%s needs the right kind of memory', (_, uses, devices, options, deviceCount) => {
    for (const need of [aNeed({ model: { options, memory } }), aNeed({ model: { options }, facts })]) {
      const { vram, ram, ...rest } = memoryOn(aMachine(uses, devices), need)
      expect([rest.deviceCount, vram > 0]).toEqual([deviceCount, deviceCount > 0])
      expect(ram).toBeGreaterThan(0)
    }
    const explicit = memoryOn(aMachine(uses, devices), aNeed({ model: { options, memory } }))
    expect(explicit.vram + explicit.ram).toBe(9 * GIB)
  })

  test('a node that has not said what it has of an engine is taken to use a GPU if there is one', () => {
    expect(memoryOn(aNode({ devices: [gpu()], engines: {} }), aNeed({ facts })).deviceCount).toBe(1)
  })
})

describe('an engine that takes a share of each device', () => {
  const uses: EngineUses = { device: 'gpu', share: { option: 'use', default: 0.9 }, devicesOption: 'tp' }

  test('is charged that, as the model says, over as many devices as it says', () => {
    expect(memoryOn(aMachine(uses), aNeed({ facts }))).toMatchObject({ source: 'computed', share: 0.9, deviceCount: 1 })
    const need = aNeed({ model: { options: { use: '0.5', tp: 4 } } })
    expect(memoryOn(aMachine(uses), need)).toMatchObject({ share: 0.5, deviceCount: 4, vram: 0 })
  })

  test('is charged that even when less was seen: it does not start where less is free', () => {
    const need = memoryOn(aMachine(uses), aNeed({ learned: [seen()] }))
    expect(need).toMatchObject({ share: 0.9, ram: GIB })
  })

  test('with options that make no sense takes its default, on one device', () => {
    const need = aNeed({ model: { options: { use: 7, tp: 'all' } } })
    expect(memoryOn(aMachine(uses), need)).toMatchObject({ share: 0.9, deviceCount: 1 })
  })
})

test('kinds of devices are the names of the GPUs, or cpu', () => {
  const node = (...names: string[]) => aNode({ devices: names.map((name, index) => gpu(index, name)) })
  expect(deviceKindOf(node('A', 'A'), true)).toBe('A')
  expect(deviceKindOf(node('A', 'B', 'A'), true)).toBe('A + B')
  expect(deviceKindOf(node('A'), false)).toBe('cpu')
  expect(deviceKindOf(node(), true)).toBe('gpu')
})
