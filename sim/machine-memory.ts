import type { DeviceBytes } from '../src/core/types.ts'
import type { Hardware } from './hardware.ts'
import { GIB } from './hardware.ts'

export interface Taken {
  devices: readonly DeviceBytes[]
  ram: number
}

/** What the system takes for itself. */
const SYSTEM_RAM = GIB / 4

/** The memory that is really there. Who asks for more than is free gets nothing, and dies of it. */
export class MachineMemory {
  readonly #hardware: Hardware
  readonly #taken = new Map<object, Taken>()

  constructor(hardware: Hardware) {
    this.#hardware = hardware
  }

  /** All that the holder has from now on; false when there is not as much. */
  take(holder: object, wanted: Taken): boolean {
    const before = this.#taken.get(holder)
    this.#taken.set(holder, wanted)
    const isThere = this.freeRam() >= 0 && this.#hardware.devices.every(({ index }) => this.freeVram(index) >= 0)
    if (isThere) return true
    if (before) this.#taken.set(holder, before)
    else this.#taken.delete(holder)
    return false
  }

  release(holder: object): void {
    this.#taken.delete(holder)
  }

  takenBy(holder: object): Taken | undefined {
    return this.#taken.get(holder)
  }

  freeVram(index: number): number {
    const { totalVram, unified } = this.#hardware.devices.find((device) => device.index === index)!
    const own = totalVram - sum([...this.#taken.values()].map(({ devices }) => bytesOn(devices, index)))
    return unified ? Math.min(own, this.freeRam()) : own
  }

  /** Devices without memory of their own take theirs out of the machine's. */
  freeRam(): number {
    const unified = this.#hardware.devices.filter((device) => device.unified).map(({ index }) => index)
    const taken = [...this.#taken.values()].map(
      ({ devices, ram }) => ram + sum(unified.map((index) => bytesOn(devices, index))),
    )
    return this.#hardware.totalRam - SYSTEM_RAM - sum(taken)
  }
}

export function bytesOn(devices: readonly DeviceBytes[], index: number): number {
  return devices.find((device) => device.index === index)?.bytes ?? 0
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
