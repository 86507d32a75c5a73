import { describe, expect, test } from 'vitest'
import { aClaim, aModel, aNode, aNodeEngine, aReplica } from '../../../test/support/builders.ts'
import type { LearnedMemory, NodeEngine } from '../types.ts'
import { learnMemory } from './learn.ts'

const card = { index: 0, name: 'RTX 4090', totalVram: 24, availableVram: 24, unified: false }
const nodeWith = (engine: Partial<NodeEngine>) =>
  aNode({
    devices: [card],
    availableRam: 100,
    engines: { sim: aNodeEngine({ version: 'v1', uses: { device: 'either' }, ...engine }) },
  })
const node = nodeWith({})
const claim = aClaim({ devices: [{ index: 0, bytes: 10 }], ram: 2 })
const ready = aReplica({ claim, measured: { devices: [{ index: 0, bytes: 8 }], ram: 1 } })
const known = (fields: Partial<LearnedMemory> = {}): LearnedMemory => ({
  modelName: 'm',
  revision: 'r1',
  engineVersion: 'v1',
  deviceKind: 'RTX 4090',
  vram: 8,
  ram: 1,
  learnedFrom: 'measured',
  ...fields,
})
const learn = (replica = ready, on = node, before: LearnedMemory[] = [], isNew = false) =>
  learnMemory(replica, on, aModel(), before, isNew)

describe('what a replica that serves takes', () => {
  test('is learned for its revision, engine version and kind of device', () => {
    expect(learn()).toEqual(known())
    expect(learn(aReplica({ claim: aClaim({ ram: 9 }), measured: { devices: [], ram: 5 } }))).toEqual(
      known({ deviceKind: 'cpu', vram: 0, ram: 5 }),
    )
  })

  test('is news only when it is more than before; what was learned of another kind does not count', () => {
    expect(learn(ready, node, [known()])).toBeUndefined()
    expect(learn(ready, node, [known({ vram: 20 })])).toBeUndefined()
    expect(learn(ready, node, [known({ vram: 5, ram: 3 })])).toEqual(known({ ram: 3 }))
    expect(learn(ready, node, [known({ deviceKind: 'cpu' }), known({ engineVersion: 'v0' })])).toEqual(known())
  })

  test('is what was seen since it became ready', () => {
    const measured = { devices: [{ index: 0, bytes: 8 }], ram: 1 }
    const learnedFrom = (loaded: boolean | undefined, isNew: boolean) =>
      learn({ ...ready, measured: { ...measured, loaded } }, node, [], isNew)
    expect(learnedFrom(false, true)).toBeUndefined()
    expect(learnedFrom(false, false)).toBeUndefined()
    expect(learnedFrom(true, true)).toEqual(known())
    // A worker of the release before does not say: what came with the news that it is ready was seen before.
    expect(learnedFrom(undefined, true)).toBeUndefined()
    expect(learnedFrom(undefined, false)).toEqual(known())
  })

  test('takes the place of a guess that came from a failure', () => {
    expect(learn(ready, node, [known({ vram: 20, learnedFrom: 'out of memory' })])).toEqual(known())
  })

  test('is not known while it starts, when VRAM cannot be told apart, or of an old revision', () => {
    expect(learn({ ...ready, state: 'loading' })).toBeUndefined()
    expect(learn({ ...ready, measured: { devices: null, ram: 1 } })).toBeUndefined()
    expect(learn({ ...ready, revision: 'r0' })).toBeUndefined()
  })

  test('says how it was used, and not what it needs, of an engine that takes memory as requests come, or a share', () => {
    expect(learn(ready, nodeWith({ memory: 'on_demand' }))).toBeUndefined()
    expect(learn(ready, nodeWith({ uses: { device: 'gpu', share: { option: 'x', default: 0.9 } } }))).toBeUndefined()
  })
})

describe('what a start that ran out of memory had', () => {
  const failed = { ...ready, state: 'failed' as const, outOfMemory: true, measured: null }

  test('is not enough', () => {
    expect(learn(failed)).toEqual(known({ vram: 10, ram: 2, learnedFrom: 'out of memory' }))
    expect(learn({ ...failed, outOfMemory: false })).toBeUndefined()
    expect(learn(failed, nodeWith({ memory: 'on_demand' }))).toMatchObject({ vram: 10 })
  })

  test('alone on a machine it was all that was free', () => {
    const alone = { ...failed, claim: aClaim({ ram: 2, alone: true, source: 'unknown' }) }
    expect(learn(alone)).toMatchObject({ ram: 100, learnedFrom: 'out of memory' })
  })
})
