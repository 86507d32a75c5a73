import type { Device } from '../src/core/types.ts'
import type { Random } from './random.ts'

/** What a machine has, in bytes. */
export interface Hardware {
  devices: readonly Omit<Device, 'availableVram'>[]
  totalRam: number
  totalDisk: number
  /** Whether its driver tells how much each process takes of a device. */
  tellsApart: boolean
}

export const GIB = 2 ** 30

/** Small cards and large ones, so that some models fit everywhere, some on few machines, some only over several cards. */
const CARDS = [
  { name: 'small card', totalVram: 8 * GIB },
  { name: 'card', totalVram: 24 * GIB },
  { name: 'large card', totalVram: 48 * GIB },
]
const RAM_SIZES = [16 * GIB, 32 * GIB, 64 * GIB]
const CARD_COUNTS = [1, 1, 2, 4]

export function drawHardware(random: Random): Hardware {
  const totalRam = random.oneOf(RAM_SIZES)!
  const rest = { totalRam, totalDisk: 2 ** 40, tellsApart: !random.chance(0.2) }
  const kind = random.oneOf(['cpu', 'cards', 'cards', 'cards', 'unified'] as const)!
  if (kind === 'cpu') return { ...rest, devices: [] }
  if (kind === 'unified') {
    return { ...rest, devices: [{ index: 0, name: 'unified memory', totalVram: totalRam, unified: true }] }
  }
  const card = random.oneOf(CARDS)!
  const devices = Array.from({ length: random.oneOf(CARD_COUNTS)! }, (_, index) => ({ index, ...card, unified: false }))
  return { ...rest, devices }
}
