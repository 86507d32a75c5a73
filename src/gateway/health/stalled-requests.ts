import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import type { LiveRoute } from '../table/routing-table.ts'

/** A request at a replica, whose answer is awaited. */
export interface Awaited {
  readonly route: LiveRoute
  /** Pieces of the answer that have come. */
  readonly pieces: number
  /** Nothing has reached the client, and there is another replica to ask. */
  mayMove(): boolean
  giveUp(why: string): void
  /** Where it stands among those that are watched, if it does. Whoever watches keeps this. */
  place?: number | undefined
}

export interface SilenceDeps {
  clock: Clock
  log: Logger
  /** Why the node of a replica does not answer, if it does not. */
  askNode: (route: LiveRoute) => Promise<string | undefined>
  /** How long an engine may take to begin its answer; Infinity is for as long as it needs. */
  answerWaitMs?: number | undefined
}

const LOOK_EVERY_MS = 1000
/** Whoever is found silent so often may have been cut off, so its node is asked. */
const ASK_AFTER_LOOKS = 3
/** A request that cannot go elsewhere waits so long for its node to come back. */
const PATIENCE_LOOKS = 20
/** Nodes that are asked at once; the others have their turn at the next look. */
const MOST_ASKED = 50
/** Longer than the longest prompt takes on a processor. */
export const ANSWER_WAIT_MS = 3_600_000

/**
 * Finds requests that wait for a node that is gone without a word: a network that swallows everything, a machine that
 * stands still. An engine may be silent for as long as it likes, because it may be busy; its node answers always. Those
 * that may go to another replica do so at once, the others when they have waited in vain for a while.
 */
export class Silence {
  readonly #deps: SilenceDeps
  readonly #lines: RepeatedLines
  /**
   * A list in which each knows its place. A map's old table, when it is full of what was deleted, lives on until the next
   * big collection of garbage and keeps all that was ever in it: with one, a third of all memory of requests grew old.
   */
  readonly #watched: Awaited[] = []
  /** The pieces that there were at the last look; and looks in a row that found no more, as the time of day may jump. */
  readonly #pieces: number[] = []
  readonly #silentLooks: number[] = []
  readonly #asked = new Set<string>()
  readonly #answerWaitMs: number
  #cancel: (() => void) | undefined

  constructor(deps: SilenceDeps) {
    this.#deps = deps
    this.#answerWaitMs = deps.answerWaitMs ?? ANSWER_WAIT_MS
    this.#lines = new RepeatedLines(deps.clock)
  }

  watch(awaited: Awaited): void {
    awaited.place = this.#watched.push(awaited) - 1
    this.#pieces.push(awaited.pieces)
    this.#silentLooks.push(0)
    this.#cancel ??= this.#deps.clock.after(LOOK_EVERY_MS, this.#look)
  }

  forget(awaited: Awaited): void {
    const { place } = awaited
    if (place === undefined) return
    awaited.place = undefined
    const last = this.#watched.pop()!
    const pieces = this.#pieces.pop()!
    const silentLooks = this.#silentLooks.pop()!
    if (last === awaited) return
    last.place = place
    this.#watched[place] = last
    this.#pieces[place] = pieces
    this.#silentLooks[place] = silentLooks
  }

  dispose(): void {
    this.#cancel?.()
    while (this.#watched.length > 0) this.forget(this.#watched.at(-1)!)
  }

  readonly #look = (): void => {
    const isEmpty = this.#watched.length === 0
    this.#cancel = isEmpty ? undefined : this.#deps.clock.after(LOOK_EVERY_MS, this.#look)
    for (const [i, { pieces, route }] of this.#watched.entries()) {
      const looks = pieces === this.#pieces[i] ? this.#silentLooks[i]! + 1 : 0
      this.#pieces[i] = pieces
      this.#silentLooks[i] = looks
      if (looks >= ASK_AFTER_LOOKS) void this.#askNodeOf(route)
    }
    this.#endLate()
  }

  /** Of engines that have said nothing. One that has begun may take as long as it likes for the rest. */
  #endLate(): void {
    const most = this.#answerWaitMs / LOOK_EVERY_MS
    const late = this.#watched.filter(({ pieces }, i) => pieces === 0 && this.#silentLooks[i]! >= most)
    for (const awaited of late) {
      const why = `its engine has not begun to answer within ${this.#answerWaitMs / 1000} s (--answer-wait)`
      this.#deps.log.warn({ node: awaited.route.nodeName, why }, 'gateway: gives up a request')
      awaited.giveUp(why)
    }
  }

  async #askNodeOf(route: LiveRoute): Promise<void> {
    const { nodeId, nodeName } = route
    if (this.#asked.has(nodeId) || this.#asked.size >= MOST_ASKED) return
    this.#asked.add(nodeId)
    try {
      const why = await this.#deps.askNode(route)
      if (why === undefined) return
      for (const awaited of this.#hopeless(nodeId)) {
        this.#lines.tell(nodeId, (repeated) => {
          const fields = { node: nodeName, why, ...repeated }
          this.#deps.log.warn(fields, 'gateway: gives up a request, because its node does not answer')
        })
        awaited.giveUp(`its node does not answer: ${why}`)
      }
    } finally {
      this.#asked.delete(nodeId)
    }
  }

  #hopeless(nodeId: string): Awaited[] {
    return this.#watched.filter((awaited, i) => {
      const isSilent = awaited.route.nodeId === nodeId && awaited.pieces === this.#pieces[i]
      return isSilent && this.#silentLooks[i]! >= (awaited.mayMove() ? ASK_AFTER_LOOKS : PATIENCE_LOOKS)
    })
  }
}
