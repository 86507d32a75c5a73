import { MOST_UNREAD } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/run/clock.ts'

/** A replica and its process. */
export interface EndingReplica {
  readonly spec: { readonly id: string }
  readonly state: string
  /** Undefined while there is no process. */
  readonly pid: number | undefined
}

export interface UnreadEndsDeps {
  /**
   * The current replicas. One whose process has ended stays until all of its processes are gone, unless it has failed.
   */
  replicas: () => readonly EndingReplica[]
  clock: Clock
}

/** If a tool gives no reading for longer, it will not give one soon: control stops waiting for it, too. */
const FORGOTTEN_MS = 60_000

/**
 * Which replicas have ended since the last reading of the machine's memory began. That reading may still count their
 * memory as taken, and control must know this when it places other replicas.
 */
export class UnreadEnds {
  readonly #deps: UnreadEndsDeps
  /** Replicas that had a process at the last look, or since the last reading began, and when they ended. */
  readonly #seen = new Map<string, { endedMs: number | undefined }>()

  constructor(deps: UnreadEndsDeps) {
    this.#deps = deps
  }

  /** The ids to report with each heartbeat. */
  unread(): string[] {
    const replicas = this.#look()
    return [...this.#seen]
      .filter(([id, { endedMs }]) => endedMs !== undefined || replicas.get(id)?.state === 'failed')
      .map(([id]) => id)
      .slice(-MOST_UNREAD)
  }

  isOpen(): boolean {
    this.#look()
    return [...this.#seen.values()].some(({ endedMs }) => endedMs !== undefined)
  }

  /** The machine has been read; the read began then. True when it newly covers some ends. */
  read(begunMs: number): boolean {
    this.#look()
    let isNews = false
    for (const [id, { endedMs }] of this.#seen) {
      if (endedMs === undefined || endedMs > begunMs) continue
      this.#seen.delete(id)
      isNews = true
    }
    return isNews
  }

  #look(): Map<string, EndingReplica> {
    const nowMs = this.#deps.clock.nowMs()
    const replicas = new Map(this.#deps.replicas().map((replica) => [replica.spec.id, replica]))
    for (const [id, { state, pid }] of replicas) {
      if (pid !== undefined && !this.#seen.has(id)) this.#seen.set(id, { endedMs: undefined })
      const seen = this.#seen.get(id)
      if (seen && pid === undefined && state === 'failed') seen.endedMs ??= nowMs
    }
    for (const [id, seen] of this.#seen) {
      if (!replicas.has(id)) seen.endedMs ??= nowMs
      if (seen.endedMs !== undefined && nowMs - seen.endedMs > FORGOTTEN_MS) this.#seen.delete(id)
    }
    return replicas
  }
}
