import { expect, test } from 'vitest'
import type { HeartbeatMessage } from '../../api/bus/messages.ts'
import { aDevice, aHeartbeat, anEngine, aReport } from '../../../test/support/builders.ts'
import { tellsNothingNew } from './is-routine.ts'

const MIB = 2 ** 20

function aFull(fields: Partial<HeartbeatMessage> = {}): HeartbeatMessage {
  const devices = [aDevice({ total_vram: 8192 * MIB, available_vram: 4096 * MIB })]
  return aHeartbeat({ replicas: [aReport({ id: 'r', state: 'ready' })], devices, ...fields })
}

const before = aFull()

test.each<[string, Partial<HeartbeatMessage>]>([
  ['the same again', { seq: 2 }],
  ['another number of requests', { replicas: [aReport({ id: 'r', state: 'ready', in_flight: 3, idle_ms: 5 })] }],
  ['less room', { available_ram: 0, available_disk: 0, devices: [aDevice({ available_vram: 0 })] }],
  ['hardly more room', { available_ram: before.available_ram + 60 * MIB }],
])('%s is nothing new', (_what, fields) => {
  expect(tellsNothingNew(before, aFull(fields))).toBe(true)
})

test.each<[string, Partial<HeartbeatMessage>]>([
  ['another boot', { boot_id: 'boot2' }],
  ['another state', { replicas: [aReport({ id: 'r', state: 'failed' })] }],
  ['another replica', { replicas: [aReport({ id: 'r2', state: 'ready' })] }],
  ['another start of it', { replicas: [aReport({ id: 'r', state: 'ready', generation: 9 })] }],
  ['what it takes', { replicas: [aReport({ id: 'r', state: 'ready', memory: { devices: null, ram: 7 } })] }],
  ['one replica less', { replicas: [] }],
  ['another engine', { engines: [anEngine({ state: 'missing' })] }],
  ['more memory', { available_ram: before.available_ram + 64 * MIB }],
  ['more disk', { available_disk: before.available_disk + 64 * MIB }],
  ['more of a device', { devices: [aDevice({ available_vram: 5000 * MIB })] }],
  ['no device any more', { devices: [] }],
])('%s is new', (_what, fields) => {
  expect(tellsNothingNew(before, aFull(fields))).toBe(false)
})

test('the first one is new', () => {
  expect(tellsNothingNew(undefined, before)).toBe(false)
})
