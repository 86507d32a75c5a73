import type { Device, Found, Space } from './hardware.ts'

const MOST_DEVICES = 64
const MOST_NAME_CHARS = 200

/**
 * A figure of free memory is used for three heartbeats. Names and totals are used for longer, but placing a model by a
 * free figure from minutes ago is worse than knowing that it is unknown.
 */
const FREE_FOR_MS = 15_000

/**
 * Devices as they are reported: their own memory and their share of the RAM together, in whole bytes, each device once.
 */
export function toDevices(found: readonly Found[], ram: Space, ageMs: number): Device[] {
  const byUuid = new Map<string, Device>()
  for (const one of found) {
    if (byUuid.size >= MOST_DEVICES) break
    const device = toDevice(one, ram, ageMs)
    if (!byUuid.has(device.uuid)) byUuid.set(device.uuid, device)
  }
  return [...byUuid.values()]
}

function toDevice({ index, uuid, name, totalBytes, freeBytes, shared }: Found, ram: Space, ageMs: number): Device {
  const sharedTotal = shared === null ? 0 : Math.min(shared.mostBytes, ram.totalBytes)
  const sharedFree =
    shared === null ? 0 : Math.min(Math.max(0, shared.mostBytes - shared.usedBytes), ram.availableBytes)
  const total = Math.min(totalBytes + sharedTotal, Number.MAX_SAFE_INTEGER)
  const isKnown = freeBytes !== null && ageMs <= FREE_FOR_MS
  return {
    index,
    uuid: uuid.slice(0, MOST_NAME_CHARS),
    name: name.slice(0, MOST_NAME_CHARS),
    total_vram: total,
    available_vram: isKnown ? Math.max(0, Math.min(freeBytes + sharedFree, total)) : null,
    unified: shared !== null,
  }
}
