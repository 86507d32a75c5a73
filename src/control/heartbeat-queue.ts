import type { HeartbeatFrom } from './heartbeats.ts'

/** More than the largest cluster sends while one transaction runs; beyond it the oldest go: newer ones say the same. */
const MOST_WAITING = 5000
/** In one transaction, so that none of them waits long and the turn gets its chance in between. */
const MOST_AT_ONCE = 100

/**
 * Heartbeats that arrive while others are being written are written together afterwards: under load one commit carries
 * many, and without load none waits. Of several of one boot only the newest counts, for each is the full truth.
 */
export class HeartbeatQueue {
  readonly #take: (heartbeats: HeartbeatFrom[]) => Promise<void>
  readonly #waiting = new Map<string, HeartbeatFrom>()
  #running: Promise<void> | undefined

  /** `take` reports its own failures. */
  constructor(take: (heartbeats: HeartbeatFrom[]) => Promise<void>) {
    this.#take = take
  }

  add(from: HeartbeatFrom): void {
    const key = `${from.nodeId} ${from.heartbeat.boot_id}`
    const waiting = this.#waiting.get(key)
    if (waiting && waiting.heartbeat.seq >= from.heartbeat.seq) return
    this.#waiting.delete(key)
    if (this.#waiting.size >= MOST_WAITING) this.#waiting.delete(this.#waiting.keys().next().value!)
    this.#waiting.set(key, from)
    this.#running ??= this.#run()
  }

  /** Drops what waits; resolves when what is being written has been. */
  async dispose(): Promise<void> {
    this.#waiting.clear()
    await this.#running
  }

  async #run(): Promise<void> {
    // What arrives in the same moment goes along.
    await Promise.resolve()
    while (this.#waiting.size > 0) {
      const keys = [...this.#waiting.keys()].slice(0, MOST_AT_ONCE)
      const batch = keys.map((key) => this.#waiting.get(key)!)
      for (const key of keys) this.#waiting.delete(key)
      await this.#take(batch)
    }
    this.#running = undefined
  }
}
