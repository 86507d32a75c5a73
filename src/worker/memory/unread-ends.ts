import { MOST_UNREAD } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/run/clock.ts'

/** A replica as far as its process goes. */
export interface EndingReplica {
  readonly spec: { readonly id: string }
  readonly state: string
  /** Undefined while there is no process. */
  readonly pid: number | undefined
}

export interface UnreadEndsDeps {
  /** Those that there are. One whose process has ended is there until nothing of it is left, unless it has failed. */
  replicas: () => readonly EndingReplica[]
  clock: Clock
}

/** A tool that gives no reading for longer will not soon: control waits no longer for it either. */
const FORGOTTEN_MS = 60_000

/**
 * Which replicas have ended since the last reading of the machine's memory began. That reading may count what they held
 * as taken, and whoever places others by it is told.
 */
export class UnreadEnds {
  readonly #deps: UnreadEndsDeps
  /** Replicas that had a process when they were last looked at, or since the last reading began, and when it ended. */
  readonly #seen = new Map<string, { endedMs: number | undefined }>()

  constructor(deps: UnreadEndsDeps) {
    this.#deps = deps
  }

  /** To be told with each heartbeat. */
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

  /** The machine has been read, and that began then. True when ends are known to be in it that were not before. */
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
