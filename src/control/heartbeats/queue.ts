import type { Clock } from '../../platform/run/clock.ts'
import type { HeartbeatFrom } from './take.ts'
import { tellsNothingNew } from './is-routine.ts'

/** More than the largest cluster sends while one transaction runs; beyond it the oldest go: newer ones say the same. */
const MOST_WAITING = 5000
/** In one transaction, so that none of them waits long and the turn gets its chance in between. */
const MOST_AT_ONCE = 100
/** Far less than the silence that makes a node unreachable, and long enough for a large cluster to fill a transaction. */
const QUIET_WAIT_MS = 250
/** Nodes whose last heartbeat is kept, to compare the next one with. */
const MOST_KNOWN = 5000

export interface HeartbeatQueueDeps {
  /** Writes them and reports its own failures. False when they are not written. */
  take: (heartbeats: HeartbeatFrom[]) => Promise<boolean>
  clock: Clock
  /** The node counts as silent, so any heartbeat of it is news. */
  isMissed: (nodeId: string) => boolean
  /** How long one that tells nothing new may wait for others. */
  quietWaitMs?: number | undefined
}

/**
 * Heartbeats that arrive while others are being written are written together afterwards: under load one commit carries
 * many. One that tells something new is written at once, with all that wait by then; one that does not waits a moment for
 * others, since most of them do not and each commit costs the same. Of several of one boot only the newest counts, for each
 * is the full truth.
 */
export class HeartbeatQueue {
  readonly #deps: HeartbeatQueueDeps
  readonly #waiting = new Map<string, HeartbeatFrom>()
  /** The last one of each node that was written. */
  readonly #known = new Map<string, HeartbeatFrom['heartbeat']>()
  #running: Promise<void> | undefined
  #cancelWait: (() => void) | undefined

  constructor(deps: HeartbeatQueueDeps) {
    this.#deps = deps
  }

  add(from: HeartbeatFrom): void {
    const key = `${from.nodeId} ${from.heartbeat.boot_id} ${from.heartbeat.run_id ?? ''}`
    const waiting = this.#waiting.get(key)
    if (waiting && waiting.heartbeat.seq >= from.heartbeat.seq) return
    this.#waiting.delete(key)
    if (this.#waiting.size >= MOST_WAITING) this.#waiting.delete(this.#waiting.keys().next().value!)
    this.#waiting.set(key, from)
    if (this.#running) return
    const { clock, isMissed, quietWaitMs = QUIET_WAIT_MS } = this.#deps
    const isQuiet = tellsNothingNew(this.#known.get(from.nodeId), from.heartbeat) && !isMissed(from.nodeId)
    if (!isQuiet) return this.#start()
    this.#cancelWait ??= clock.after(quietWaitMs, () => this.#start())
  }

  /** Drops what waits; resolves when what is being written has been. */
  async dispose(): Promise<void> {
    this.#waiting.clear()
    this.#stopWaiting()
    await this.#running
  }

  #start(): void {
    this.#stopWaiting()
    this.#running = this.#run()
  }

  #stopWaiting(): void {
    this.#cancelWait?.()
    this.#cancelWait = undefined
  }

  async #run(): Promise<void> {
    // Heartbeats that arrive in the same moment join it.
    await Promise.resolve()
    while (this.#waiting.size > 0) {
      const keys = [...this.#waiting.keys()].slice(0, MOST_AT_ONCE)
      const batch = keys.map((key) => this.#waiting.get(key)!)
      for (const key of keys) this.#waiting.delete(key)
      if (await this.#deps.take(batch)) this.#note(batch)
    }
    this.#running = undefined
  }

  #note(batch: readonly HeartbeatFrom[]): void {
    for (const { nodeId, heartbeat } of batch) this.#known.set(nodeId, heartbeat)
    if (this.#known.size > MOST_KNOWN) this.#known.clear()
  }
}
