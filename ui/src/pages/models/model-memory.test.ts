import { expect, test } from 'vitest'
import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { measuredBytes, memoryPerReplica } from './model-memory.ts'

const aReplica = (some: Partial<ReplicaView> = {}): ReplicaView =>
  ({ claim: { devices: [], ram: 100, disk: 0, source: 'computed' }, measured: null, ...some }) as ReplicaView
const aModel = { memory: null, header: null, options: {} }

test('what was seen stands before what is held, and that before what was said', () => {
  const seen = aReplica({ measured: { devices: [{ index: 0, bytes: 70 }], ram: 10 } })
  expect(memoryPerReplica(aModel, [aReplica(), seen], false)).toEqual({ bytes: 80, source: 'measured' })
  expect(memoryPerReplica({ ...aModel, memory: { vram: 1, ram: 2 } }, [aReplica()], false)).toMatchObject({
    source: 'claimed',
  })
  expect(memoryPerReplica({ ...aModel, memory: { vram: 1, ram: 2 } }, [], false)).toEqual({ bytes: 3, source: 'set' })
  expect(memoryPerReplica(aModel, [], false)).toBeUndefined()
})

test('half a measurement is none', () => {
  const claim = { devices: [{ index: 0, bytes: 50 }], ram: 0, disk: 0, source: 'computed' as const }
  expect(measuredBytes(aReplica({ claim, measured: { devices: null, ram: 10 } }))).toBeNull()
  expect(measuredBytes(aReplica({ measured: { devices: null, ram: 10 } }))).toBe(10)
})
