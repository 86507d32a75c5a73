import { totalmem } from 'node:os'
import { AppError } from '../../platform/errors.ts'

const MIB = 1024 * 1024
const MOST_BY_DEFAULT = 256 * MIB
const RETRY_AFTER_S = 5

/** A quarter of the memory that this process may have, divided among `processes`, and at most 256 MiB. */
export function defaultBodyMemory(processes = 1): number {
  // 0 without a limit; with cgroups of the first version an absurd number.
  const limit = process.constrainedMemory()
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return Math.min(MOST_BY_DEFAULT, Math.floor(bytes / 4 / processes))
}

/**
 * The memory that bodies of requests take in one process, from their first byte until the request has ended. What has
 * arrived counts, not what is announced: 2,000 clients that announce 60 MB and send little keep no other one out.
 *
 * At the limit the largest body that is still being read is given up, of the client that holds most; so a small request goes
 * on while another client sends large ones. One client has half of the memory at most. A body that is whole is kept.
 */
export class BodyBudget {
  readonly mostBytes: number
  /** Of one client. */
  readonly mostOfOne: number
  #bytes = 0
  readonly #byClient = new Map<string, number>()
  readonly #reading = new Set<BodyRoom>()

  constructor(mostBytes: number) {
    this.mostBytes = mostBytes
    this.mostOfOne = Math.floor(mostBytes / 2)
  }

  get heldBytes(): number {
    return this.#bytes
  }

  /** Room for one body. `client` is a key, or where requests without one come from. */
  open(client: string): BodyRoom {
    const room = new BodyRoom(this, client)
    this.#reading.add(room)
    return room
  }

  /** Throws when there is no room for so many more bytes of it. */
  grow(room: BodyRoom, bytes: number): void {
    while (this.#of(room.client) + bytes > this.mostOfOne) this.#giveUp(room, bytes, room.client)
    while (this.#bytes + bytes > this.mostBytes) this.#giveUp(room, bytes, this.#greediest(room.client, bytes))
    this.#count(room.client, bytes)
  }

  settle(room: BodyRoom): void {
    this.#reading.delete(room)
  }

  release(room: BodyRoom): void {
    this.#reading.delete(room)
    this.#count(room.client, -room.bytes)
  }

  /** Throws when it is the body for which `asker` wants so many more bytes. */
  #giveUp(asker: BodyRoom, bytes: number, client: string): void {
    let largest = asker.client === client ? asker : undefined
    const sizeOf = (room: BodyRoom): number => room.bytes + (room === asker ? bytes : 0)
    for (const room of this.#reading) {
      if (room.client === client && (!largest || sizeOf(room) > sizeOf(largest))) largest = room
    }
    const error = this.#noRoom(client)
    if (!largest || largest === asker) throw error
    largest.refuse(error)
  }

  /** Of the clients that still send bodies the one that holds most. */
  #greediest(asker: string, bytes: number): string {
    let found = asker
    let most = this.#of(asker) + bytes
    for (const { client } of this.#reading) {
      const held = this.#of(client)
      if (held <= most) continue
      found = client
      most = held
    }
    return found
  }

  #noRoom(client: string): AppError {
    const held = `${inMiB(this.#of(client))} of them of this client, which may have ${inMiB(this.mostOfOne)}`
    const text = `The bodies of requests take ${inMiB(this.#bytes)} of ${inMiB(this.mostBytes)} here, ${held}. Try again in ${RETRY_AFTER_S} s, or start Flotilla with more --body-memory.`
    return new AppError('unavailable', text, { retryAfterS: RETRY_AFTER_S })
  }

  #of(client: string): number {
    return this.#byClient.get(client) ?? 0
  }

  #count(client: string, bytes: number): void {
    this.#bytes += bytes
    const held = this.#of(client) + bytes
    if (held === 0) this.#byClient.delete(client)
    else this.#byClient.set(client, held)
  }
}

/** What one body takes. */
export class BodyRoom {
  readonly client: string
  bytes = 0
  /** Told once when the body is given up for another while it is read. */
  onRefused: (error: AppError) => void = () => {}
  readonly #budget: BodyBudget
  #isReleased = false

  constructor(budget: BodyBudget, client: string) {
    this.#budget = budget
    this.client = client
  }

  /** Throws when so long a body can never be taken. */
  announce(length: number): void {
    const { mostOfOne } = this.#budget
    if (length <= mostOfOne) return
    const text = `The request body (${length} bytes) is larger than what the bodies of one client may take here (${mostOfOne} bytes). Start Flotilla with more --body-memory.`
    throw new AppError('too_large', text)
  }

  /** So many more bytes have arrived. Throws when there is no room for them, and then the body must not be kept. */
  grow(bytes: number): void {
    this.announce(this.bytes + bytes)
    this.#budget.grow(this, bytes)
    this.bytes += bytes
  }

  /** The body is whole, and is kept until `release`. */
  settle(): void {
    this.#budget.settle(this)
  }

  /** Nothing of the body is kept any more. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#budget.release(this)
  }

  refuse(error: AppError): void {
    this.release()
    this.onRefused(error)
  }
}

function inMiB(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`
}
