import { totalmem } from 'node:os'
import { AppError } from '../../platform/errors.ts'

const MIB = 1024 * 1024
const MOST_BY_DEFAULT = 256 * MIB
const RETRY_AFTER_S = 5

/** A quarter of the memory that this process may use, divided among `processes`, and at most 256 MiB. */
export function defaultBodyMemory(processes = 1): number {
  // 0 without a limit; with cgroups v1 a number larger than any memory.
  const limit = process.constrainedMemory()
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return Math.min(MOST_BY_DEFAULT, Math.floor(bytes / 4 / processes))
}

/**
 * Limits the memory of request bodies in one process, from their first byte until the request has ended. It counts bytes
 * that have arrived, not announced lengths: 2,000 clients that announce 60 MB and send little keep no other client out.
 *
 * At the limit it refuses the largest body still being read, of the client that holds most; so a small request succeeds
 * while another client sends large ones. One client has at most half of the memory. A complete body is kept.
 */
export class BodyBudget {
  readonly mostBytes: number
  /** The limit of one client. */
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

  /** Room for one body. `client` is the id of a key, or the origin of a request without a key. */
  open(client: string): BodyRoom {
    const room = new BodyRoom(this, client)
    this.#reading.add(room)
    return room
  }

  /** Adds so many bytes to a body; throws when there is no room for them. */
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

  /** Refuses the client's largest body that is still being read; throws when that is the asker's own. */
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

  /** Of the clients that are still sending bodies, the one that holds most. */
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
    const held = `this client's bodies use ${inMiB(this.#of(client))} of the ${inMiB(this.mostOfOne)} that one client may use`
    const text = `Request bodies use ${inMiB(this.#bytes)} of ${inMiB(this.mostBytes)}, and ${held}. Try again in ${RETRY_AFTER_S} s, or start Flotilla with more --body-memory.`
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

/** The memory of one body. */
export class BodyRoom {
  readonly client: string
  bytes = 0
  /** Called once when the body is refused in favour of another while it is being read. */
  onRefused: (error: AppError) => void = () => {}
  readonly #budget: BodyBudget
  #isReleased = false

  constructor(budget: BodyBudget, client: string) {
    this.#budget = budget
    this.client = client
  }

  /** Throws when a body of this length can never be accepted. */
  announce(length: number): void {
    const { mostOfOne } = this.#budget
    if (length <= mostOfOne) return
    const text = `The request body (${length} bytes) is larger than the body memory of one client (${mostOfOne} bytes). Start Flotilla with more --body-memory.`
    throw new AppError('too_large', text)
  }

  /** So many more bytes have arrived. Throws when there is no room for them; the caller must then drop the body. */
  grow(bytes: number): void {
    this.announce(this.bytes + bytes)
    this.#budget.grow(this, bytes)
    this.bytes += bytes
  }

  /** The body is complete, and is kept until `release`. */
  settle(): void {
    this.#budget.settle(this)
  }

  /** The body is no longer in memory. */
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
