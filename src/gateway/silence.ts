import type { Clock } from '../platform/clock.ts'
import type { Logger } from '../platform/log.ts'
import type { LiveRoute } from './routing-table.ts'

/** A request at a replica, whose answer is awaited. */
export interface Awaited {
  readonly route: LiveRoute
  /** Pieces of the answer that have come. */
  readonly pieces: number
  /** Nothing has reached the client, and there is another replica to ask. */
  mayMove(): boolean
  giveUp(why: string): void
}

export interface SilenceDeps {
  clock: Clock
  log: Logger
  /** Why the node of a replica does not answer, if it does not. */
  askNode: (route: LiveRoute) => Promise<string | undefined>
}

interface Watched {
  pieces: number
  /** Looks in a row that have found no more of them. Counted, because the time of day may jump. */
  silentLooks: number
}

const LOOK_EVERY_MS = 1000
/** Whoever is found silent so often may have been cut off, so its node is asked. */
const ASK_AFTER_LOOKS = 3
/** A request that cannot go elsewhere waits so long for its node to come back. */
const PATIENCE_LOOKS = 20
/** Nodes that are asked at once; the others have their turn at the next look. */
const MOST_ASKED = 50

/**
 * Finds requests that wait for a node that is gone without a word: a network that swallows everything, a machine that
 * stands still. An engine may be silent for as long as it likes, because it may be busy; its node answers always. Those
 * that may go to another replica do so at once, the others when they have waited in vain for a while.
 */
export class Silence {
  readonly #deps: SilenceDeps
  readonly #watched = new Map<Awaited, Watched>()
  readonly #asked = new Set<string>()
  #cancel: (() => void) | undefined

  constructor(deps: SilenceDeps) {
    this.#deps = deps
  }

  watch(awaited: Awaited): void {
    this.#watched.set(awaited, { pieces: awaited.pieces, silentLooks: 0 })
    this.#cancel ??= this.#deps.clock.after(LOOK_EVERY_MS, this.#look)
  }

  forget(awaited: Awaited): void {
    this.#watched.delete(awaited)
  }

  dispose(): void {
    this.#cancel?.()
    this.#watched.clear()
  }

  readonly #look = (): void => {
    const isEmpty = this.#watched.size === 0
    this.#cancel = isEmpty ? undefined : this.#deps.clock.after(LOOK_EVERY_MS, this.#look)
    for (const [awaited, watched] of this.#watched) {
      watched.silentLooks = awaited.pieces === watched.pieces ? watched.silentLooks + 1 : 0
      watched.pieces = awaited.pieces
      if (watched.silentLooks >= ASK_AFTER_LOOKS) void this.#askNodeOf(awaited.route)
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
        this.#deps.log.warn({ node: nodeName, why }, 'gateway: gives up a request, because its node does not answer')
        awaited.giveUp(`its node does not answer: ${why}`)
      }
    } finally {
      this.#asked.delete(nodeId)
    }
  }

  #hopeless(nodeId: string): Awaited[] {
    return [...this.#watched]
      .filter(([awaited, { pieces, silentLooks }]) => {
        const isSilent = awaited.route.nodeId === nodeId && awaited.pieces === pieces
        return isSilent && silentLooks >= (awaited.mayMove() ? ASK_AFTER_LOOKS : PATIENCE_LOOKS)
      })
      .map(([awaited]) => awaited)
  }
}
