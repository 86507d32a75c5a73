import { randomUUID } from 'node:crypto'
import type { LeaderMessage } from '../../api/bus/messages.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { acquireLease, releaseLease, type HeldLease } from '../../store/nouns/leases.ts'
import type { Database } from '../../store/sql.ts'
import type { RoutingFeed } from '../routing/routing-feed.ts'
import type { Ticks } from '../turn/breakers.ts'
import type { ControlEvents } from '../turn/narrate.ts'
import type { Hearing, TurnOutcome } from '../turn/turn.ts'
import type { KeptWorld } from '../turn/world-cache.ts'
import type { Conditions } from '../watch/conditions.ts'
import { isBefore, OtherLeaders, twoLeaders } from '../watch/other-leaders.ts'

const TWO_LEADERS = 'two leaders'

/** What a frontend knows while it leads. */
export interface Leading {
  readonly lease: HeldLease
  readonly feed: RoutingFeed
  /** What it says to other leaders, if there are any. */
  readonly word: LeaderMessage
  /** Another leads on this bus that was first: until we are alone this one decides nothing and says nothing else. */
  standsBack: boolean
  hearing: Hearing | undefined
  /** After the last turn; undefined before the first. */
  after: TurnOutcome | undefined
  /** The world for the next turn to go on from; undefined when it has to read everything. */
  kept: KeptWorld | undefined
  readonly ticks: Ticks
  /** Nodes that were not online at the last turn. */
  missed: ReadonlySet<string>
  /** When each node was last heard. */
  readonly heardMs: Map<string, number>
}

export interface LeadershipDeps {
  db: Database
  bus: Pick<Bus, 'publish'>
  clock: Clock
  events: ControlEvents
  conditions: Conditions
  owner: string
  /** Where this frontend listens, for people. */
  address: string
  /** Of the store that the lease is in; undefined when it is not known. */
  clusterId: string | undefined
  leaseTtlMs: number
  newFeed: () => RoutingFeed
  /** The lease of another has ended, unless it was renewed: time for a turn. */
  onSuccession: () => void
}

/** Whether this frontend leads: it acquires and renews the lease, and stands back for a leader that was first. */
export class Leadership {
  readonly #deps: LeadershipDeps
  readonly #others: OtherLeaders
  #now: Leading | undefined
  #leaderSeen: string | undefined
  #cancelSuccession = (): void => {}

  constructor(deps: LeadershipDeps) {
    this.#deps = deps
    this.#others = new OtherLeaders(deps.leaseTtlMs)
  }

  /** Undefined while this frontend does not lead. */
  get now(): Leading | undefined {
    return this.#now
  }

  /** The same, and undefined while it stands back. */
  get deciding(): Leading | undefined {
    return this.#now?.standsBack ? undefined : this.#now
  }

  /** Takes the lease, or renews it; undefined when another holds it. */
  async renew(): Promise<Leading | undefined> {
    this.#now = await this.#acquire()
    if (this.#now) this.#lookForOthers(this.#now)
    else this.#deps.conditions.end(TWO_LEADERS)
    return this.#now
  }

  /** The word of a leader on this bus, its own among them. */
  hear(word: LeaderMessage): void {
    if (this.#now && word.feed !== this.#now.word.feed) this.#others.hear(word, this.#deps.clock.nowMs())
  }

  /** Since this frontend, as the leader, heard a node. */
  heardMsAgo(nodeId: string): number | undefined {
    const heardMs = this.#now?.heardMs.get(nodeId)
    return heardMs === undefined ? undefined : this.#deps.clock.nowMs() - heardMs
  }

  /** The bus was away: that nodes were silent meanwhile says nothing about them. */
  forgetHearing(): void {
    if (this.#now) this.#now.hearing = undefined
  }

  /** The lease is lost, or what is kept of the store is not true: the next turn begins anew. */
  lose(): void {
    this.#now = undefined
  }

  /** Gives the lease back, so that another frontend may lead at once. */
  async dispose(): Promise<void> {
    this.#cancelSuccession()
    if (this.#now) await releaseLease(this.#deps.db, this.#now.lease)
    this.#now = undefined
  }

  async #acquire(): Promise<Leading | undefined> {
    const { db, clock, events, owner, address, clusterId, leaseTtlMs, newFeed, onSuccession } = this.#deps
    const answer = await acquireLease(db, { name: 'leader', owner, ttlMs: leaseTtlMs })
    if (!('epoch' in answer)) {
      if (this.#leaderSeen !== answer.heldBy) events.following(answer.heldBy)
      this.#leaderSeen = answer.heldBy
      // A leader that lives renews it before; after one that does not, nobody leads for no longer than its lease lasts.
      this.#cancelSuccession()
      this.#cancelSuccession = clock.after(answer.leftMs, onSuccession)
      return undefined
    }
    if (this.#now?.lease.epoch === answer.epoch) return this.#now
    events.leading(answer.epoch)
    const lease = { name: 'leader', owner, epoch: answer.epoch, cluster: clusterId }
    const feed = newFeed()
    this.#others.forget()
    const [row] = await db.query<{ since: number }>('select now_ms() as since')
    const word = { feed: randomUUID(), owner, since: row!.since, address }
    const nothing = { hearing: undefined, after: undefined, kept: undefined, missed: new Set<string>() }
    return { lease, feed, word, standsBack: false, ...nothing, ticks: new Map(), heardMs: new Map() }
  }

  /** Looked at right after the lease was renewed: a leader that slept through the end of its own is none any more. */
  #lookForOthers(now: Leading): void {
    const { bus, clock, conditions } = this.#deps
    bus.publish('leader', now.word)
    const other = this.#others.beside(clock.nowMs())
    conditions.look(TWO_LEADERS, other && twoLeaders(now.word, other))
    const standsBack = other !== undefined && isBefore(other, now.word)
    // What it knows is of before it stood back; gateways have the table of the other.
    if (standsBack !== now.standsBack) Object.assign(now, { hearing: undefined, kept: undefined, after: undefined })
    now.standsBack = standsBack
  }
}
