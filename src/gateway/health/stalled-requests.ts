import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import type { LiveRoute } from '../table/routing-table.ts'

/** A request at a replica that waits for its answer. */
export interface Awaited {
  readonly route: LiveRoute
  /** Pieces of the answer that have arrived. */
  readonly pieces: number
  /** Nothing has reached the client, and there is another replica. */
  mayMove(): boolean
  giveUp(why: string): void
  /** Its index in `Silence`'s list, if it is watched. Only `Silence` writes it. */
  place?: number | undefined
}

export interface SilenceDeps {
  clock: Clock
  log: Logger
  /** Why the node of a replica does not answer; undefined when it does. */
  askNode: (route: LiveRoute) => Promise<string | undefined>
  /** How long an engine may take to begin its answer; Infinity sets no limit. */
  answerWaitMs?: number | undefined
}

const LOOK_EVERY_MS = 1000
/** After so many silent checks a request's node may be cut off, so it is probed. */
const ASK_AFTER_LOOKS = 3
/** A request that cannot go elsewhere waits so long for its node to come back. */
const PATIENCE_LOOKS = 20
/** Nodes probed at once; the others follow at the next check. */
const MOST_ASKED = 50
/** Longer than the longest prompt takes on a CPU. */
export const ANSWER_WAIT_MS = 3_600_000

/**
 * Finds requests that wait for a node that went silently: behind a network that drops everything, or on a machine that
 * hangs. A silent engine may be busy, but a live node always answers. Requests that may go to another replica do so at once,
 * the others after they have waited a while.
 */
export class Silence {
  readonly #deps: SilenceDeps
  readonly #lines: RepeatedLines
  /**
   * A list in which each entry knows its index. Not a Map: its old tables survive until a full garbage collection and keep
   * their deleted entries, so a third of all memory of requests was promoted to the old generation.
   */
  readonly #watched: Awaited[] = []
  /** Pieces at the last check; and checks in a row without a new one. Counts, not times, because the clock may jump. */
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

  /** Gives up requests whose engine has sent nothing in time. An answer that has begun has no time limit. */
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
