import type { HeldLease } from '../src/store/leases.ts'
import type { EventQueue } from './event-queue.ts'
import { LEASE_TTL_MS } from './limits.ts'
import type { Breakage } from './parts.ts'

/** The leader's lease, as src/store/leases.ts keeps it. */
export class LeaseRow {
  readonly #queue: EventQueue
  readonly #broken: ReadonlySet<Breakage>
  #owner = ''
  #epoch = 0
  #expiresMs = 0

  constructor(queue: EventQueue, broken: ReadonlySet<Breakage>) {
    this.#queue = queue
    this.#broken = broken
  }

  /** Takes a lease that is free or has run out, or renews one's own. */
  acquire(owner: string): HeldLease | undefined {
    const { nowMs } = this.#queue
    if (this.#owner !== '' && this.#owner !== owner && this.#expiresMs > nowMs) return undefined
    const isNewOwner = this.#owner !== owner
    if (isNewOwner && (this.#epoch === 0 || !this.#broken.has('epochs do not grow'))) this.#epoch += 1
    this.#owner = owner
    this.#expiresMs = nowMs + LEASE_TTL_MS
    return { name: 'leader', owner, epoch: this.#epoch }
  }

  /** Only owner and epoch count: a lease that has run out and that nobody has taken still protects its owner. */
  isHeldBy({ owner, epoch }: HeldLease): boolean {
    if (this.#broken.has('writes are not fenced')) return true
    return this.#owner === owner && this.#epoch === epoch
  }
}
