import { isStaying } from '../lifecycle/states.ts'
import type { Node, Replica } from '../types.ts'
import type { Holding } from './holding.ts'

/** What the system and we ourselves need of a machine's memory, whatever is free of it. */
const RAM_HEADROOM = { share: 0.02, bytes: 256 * 2 ** 20 }

export interface Held {
  replica: Replica
  holding: Holding
}

/**
 * What is free on one node. Two sums bound each memory: what the hardware has less what is held, and what was last read to
 * be free less what is held but not in that reading yet. An unknown figure is Infinity: it refuses nothing.
 */
export class Room {
  readonly node: Node
  readonly held: Held[]
  /** By the position of each device, as all lists here. */
  readonly #byTotal: number[]
  readonly #byReading: number[]
  /** What one may take of each device: nothing where another must be alone. */
  readonly free: number[]
  /** The most of these. */
  mostFree: number
  /** Replicas that hold something of each device, and those among them that no other may join yet. */
  readonly holders: number[]
  readonly alone: number[]
  /** Left of the node's budget. */
  vram: number
  /** Of the machine's memory. Devices without any of their own take theirs out of it. */
  ram: number
  readonly hasUnified: boolean
  /** Replicas have ended, and what they held is not in the reading as free yet: it is counted in `without` alone. */
  hasFreed: boolean
  #ramByTotal: number
  #ramByReading: number
  disk: number
  /** Replicas that start, or serve without having been measured. */
  unsettled = 0
  /** Replicas without a device that no other may join yet. */
  aloneOnRam = 0
  /** Replicas that are there to stay: neither failed nor ending. */
  staying = 0
  /** As it is now, when this is the room after some have gone: their files stay. */
  now: Room
  /** What kind of node it is for an engine, once `kinds.ts` has worked it out. */
  kind = { engineName: '', number: -1 }

  /** An empty node, by what was read of it, or as if nothing else ran there. */
  constructor(node: Node, readings: 'read' | 'ignored' = 'read') {
    const isRead = readings === 'read'
    this.node = node
    this.held = []
    this.now = this
    this.#byTotal = node.devices.map(({ totalVram }) => totalVram)
    this.#byReading = node.devices.map(({ availableVram }) => (isRead ? (availableVram ?? Infinity) : Infinity))
    this.holders = node.devices.map(() => 0)
    this.alone = node.devices.map(() => 0)
    this.vram = node.vramBudget ?? Infinity
    const headroom = Math.max(RAM_HEADROOM.bytes, Math.ceil(RAM_HEADROOM.share * (node.totalRam ?? 0)))
    this.#ramByTotal = (node.totalRam ?? Infinity) - headroom
    this.#ramByReading = isRead ? (node.availableRam ?? Infinity) - headroom : Infinity
    this.disk = node.availableDisk ?? Infinity
    this.ram = Math.min(this.#ramByTotal, this.#ramByReading)
    this.free = this.#byTotal.map((total, position) => Math.min(total, this.#byReading[position]!))
    this.mostFree = mostOf(this.free)
    this.hasUnified = node.devices.some(({ unified }) => unified)
    this.hasFreed = isRead && node.freed.length > 0
  }

  add(held: Held): void {
    this.held.push(held)
    this.#count(held, 1, 'pending')
  }

  /** Undoes `add`. The replica is found by its slot, since its row may have changed since. */
  remove(replica: Replica): void {
    const at = this.held.findIndex((one) => isSameSlot(one.replica, replica))
    if (at < 0) return
    const [held] = this.held.splice(at, 1)
    this.#count(held!, -1, 'pending')
  }

  /** As it will be when these have gone and all that they, and those before them, held can be read as free. */
  without(gone: readonly Held[]): Room {
    const room = new Room(this.node)
    room.#copy(this)
    for (const one of this.held) if (!gone.includes(one)) room.held.push(one)
    for (const one of gone) room.#count(one, -1, 'all')
    if (room.hasFreed) room.#readFreed()
    return room
  }

  #readFreed(): void {
    this.hasFreed = false
    for (const { devices, ram } of this.node.freed) {
      for (const { index, bytes } of devices) {
        const position = this.node.devices.findIndex((device) => device.index === index)
        if (position < 0) continue
        this.#byReading[position]! += bytes
        this.#setFree(position)
        if (this.node.devices[position]!.unified) this.#takeRam(0, -bytes)
      }
      this.#takeRam(0, -ram)
    }
    this.mostFree = mostOf(this.free)
  }

  #copy(other: Room): void {
    for (let i = 0; i < this.holders.length; i += 1) {
      this.#byTotal[i] = other.#byTotal[i]!
      this.#byReading[i] = other.#byReading[i]!
      this.holders[i] = other.holders[i]!
      this.alone[i] = other.alone[i]!
      this.free[i] = other.free[i]!
    }
    this.mostFree = other.mostFree
    this.vram = other.vram
    this.ram = other.ram
    this.#ramByTotal = other.#ramByTotal
    this.#ramByReading = other.#ramByReading
    this.disk = other.disk
    this.unsettled = other.unsettled
    this.aloneOnRam = other.aloneOnRam
    this.staying = other.staying
    this.hasFreed = other.hasFreed
    this.now = other.now
  }

  #count({ replica, holding }: Held, sign: 1 | -1, inReading: 'pending' | 'all'): void {
    for (const { position, bytes, pending } of holding.devices) {
      const unread = inReading === 'all' ? bytes : pending
      this.#byTotal[position]! -= sign * bytes
      this.#byReading[position]! -= sign * unread
      this.holders[position]! += sign
      if (holding.isAlone) this.alone[position]! += sign
      this.#setFree(position)
      this.vram -= sign * bytes
      if (this.node.devices[position]!.unified) this.#takeRam(sign * bytes, sign * unread)
    }
    this.mostFree = mostOf(this.free)
    this.#takeRam(sign * holding.ram, sign * (inReading === 'all' ? holding.ram : holding.pendingRam))
    this.disk -= sign * holding.disk
    if (!holding.isSettled) this.unsettled += sign
    if (holding.isAlone && holding.devices.length === 0) this.aloneOnRam += sign
    if (isStaying(replica.state)) this.staying += sign
  }

  #setFree(position: number): void {
    const isKept = this.alone[position]! > 0
    this.free[position] = isKept ? 0 : Math.min(this.#byTotal[position]!, this.#byReading[position]!)
  }

  #takeRam(bytes: number, pending: number): void {
    this.#ramByTotal -= bytes
    this.#ramByReading -= pending
    this.ram = Math.min(this.#ramByTotal, this.#ramByReading)
  }
}

function mostOf(numbers: readonly number[]): number {
  let most = 0
  for (const number of numbers) if (number > most) most = number
  return most
}

function isSameSlot(a: Replica, b: Replica): boolean {
  return a === b || (a.replicaIndex === b.replicaIndex && a.modelName === b.modelName)
}
