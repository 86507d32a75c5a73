import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Departure } from './membership.ts'

/** Long enough for a person to import a newer backup, or for the rules to be loaded elsewhere. */
const RETURNED_FOR_MS = 5 * 60_000

/** What this worker knows of its place in the cluster. */
export class Standing {
  /** The first time on the bus. Rejects when the cluster does not take this node. */
  readonly joined: Promise<void>
  /** The cluster does not want this node, or no longer. Never rejects. */
  readonly departed: Promise<Departure>
  /** Joins now, or has joined before. */
  readonly onJoined: () => void
  readonly depart: (departure: Departure) => void
  readonly #clock: Pick<Clock, 'nowMs'>
  #nodeId: string | undefined
  #isSentAway = false
  #isApproved = false
  #obstacle: string | undefined
  #isUnknown = false
  #returnedMs: number | undefined

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
    const joined = Promise.withResolvers<void>()
    const departed = Promise.withResolvers<Departure>()
    this.joined = joined.promise
    this.departed = departed.promise
    this.onJoined = joined.resolve
    this.depart = departed.resolve
    // A caller of startWorker may use one of the two promises only.
    joined.promise.catch(() => {})
    void departed.promise.then(({ message }) => {
      this.#isSentAway = true
      joined.reject(new AppError('usage', message))
    })
  }

  get nodeId(): string | undefined {
    return this.#nodeId
  }

  get isSentAway(): boolean {
    return this.#isSentAway
  }

  onRegistered(nodeId: string): void {
    this.#nodeId = nodeId
  }

  onApproved(): void {
    this.#isApproved = true
  }

  /** What a frontend says that a person has to put right; undefined when it is over. */
  onProblem(obstacle: string | undefined): void {
    this.#obstacle = obstacle
  }

  /** Control has said that it does not know this node. */
  onDue(): void {
    this.#isUnknown = true
  }

  /** Whether it has said so since the last time this was asked. */
  takeDue(): boolean {
    const isDue = this.#isUnknown
    this.#isUnknown = false
    return isDue
  }

  /** The cluster has lost its row of this node. */
  onReturned(): void {
    this.#returnedMs = this.#clock.nowMs()
  }

  /** The cluster did not know this node a moment ago. */
  isReturned(): boolean {
    return this.#returnedMs !== undefined && this.#clock.nowMs() - this.#returnedMs < RETURNED_FOR_MS
  }

  /** Why the worker is not taking part, if it is not. */
  problem(isConnected: boolean): string | undefined {
    if (this.#obstacle !== undefined && !isConnected) return this.#obstacle
    if (this.#nodeId === undefined) return 'not registered yet'
    if (!this.#isApproved) return 'waiting for approval'
    return isConnected ? undefined : 'not connected to the bus'
  }
}
