import type { LeaderMessage } from '../../api/bus/messages.ts'
import type { Condition } from './conditions.ts'

/** Leaders that are remembered; the one heard longest ago is forgotten first. */
const MOST_LEADERS = 16
/** Messages it must have sent as well: a process that was frozen gets many at once, and a clock may jump. */
const FEWEST_WORDS = 3

interface Heard {
  leader: LeaderMessage
  firstMs: number
  lastMs: number
  words: number
}

/**
 * Leaders beside us on one bus. There is one lease in a store, so two of them for longer than a lease have different stores:
 * a PostgreSQL that was copied, or one frontend with another database URL. A failover, or a leader that was frozen and wakes,
 * sends at most a message or two after another has begun.
 */
export class OtherLeaders {
  readonly #leaseTtlMs: number
  readonly #heard = new Map<string, Heard>()

  constructor(leaseTtlMs: number) {
    this.#leaseTtlMs = leaseTtlMs
  }

  hear(leader: LeaderMessage, nowMs: number): void {
    const before = this.#heard.get(leader.feed)
    const isRecent = before && Math.abs(nowMs - before.lastMs) <= this.#leaseTtlMs
    this.#heard.delete(leader.feed)
    this.#heard.set(leader.feed, {
      leader,
      firstMs: isRecent ? before.firstMs : nowMs,
      lastMs: nowMs,
      words: isRecent ? before.words + 1 : 1,
    })
    if (this.#heard.size > MOST_LEADERS) this.#heard.delete(this.#heard.keys().next().value!)
  }

  /** We do not lead, or begin to: earlier messages do not show a second leader. */
  forget(): void {
    this.#heard.clear()
  }

  /** The first of those that have led beside us for longer than a lease, and still do. */
  beside(nowMs: number): LeaderMessage | undefined {
    const lasting = [...this.#heard.values()].filter(({ firstMs, lastMs, words }) => {
      const isThere = Math.abs(nowMs - lastMs) <= this.#leaseTtlMs
      return isThere && lastMs - firstMs > this.#leaseTtlMs && words >= FEWEST_WORDS
    })
    return lasting.map(({ leader }) => leader).toSorted((a, b) => (isBefore(a, b) ? -1 : 1))[0]
  }
}

/** Whether `a` led before `b`. Both sides reach the same answer, so exactly one of two steps down. */
export function isBefore(a: LeaderMessage, b: LeaderMessage): boolean {
  if (a.since !== b.since) return a.since < b.since
  return a.owner === b.owner ? a.feed < b.feed : a.owner < b.owner
}

export function twoLeaders(own: LeaderMessage, other: LeaderMessage): Condition {
  const isFirst = isBefore(own, other)
  const text = `Two frontends lead on one bus, each with a database of its own: ${named(own)} and ${named(other)}. ${
    isFirst
      ? `This one, ${own.address}, was first and goes on`
      : `This one, ${own.address}, came later and decides nothing`
  }.`
  const advice = `give every frontend the same --database-url, and start the one at ${(isFirst ? other : own).address} again`
  return { kind: 'cluster', severity: 'error', text, advice }
}

function named({ address, owner, since }: LeaderMessage): string {
  return `${address} (${owner}, since ${new Date(since).toISOString()})`
}
