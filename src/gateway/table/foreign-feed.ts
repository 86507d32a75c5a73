import type { Clock } from '../../platform/run/clock.ts'
import type { KeptCluster } from '../../platform/kept-cluster.ts'
import type { Logger } from '../../platform/run/log.ts'

const TOLD_EVERY_MS = 60_000
/** A leader sends something every few seconds: one that was silent for this long has gone. */
const NOTED_FOR_MS = 15_000

/** Rejects routing tables of other clusters: of another control plane on the same bus, or of one with an empty store. */
export class ForeignFeed {
  readonly #cluster: KeptCluster
  readonly #clock: Clock
  readonly #log: Logger
  #last: { id: string; atMs: number } | undefined
  #toldMs = Number.NEGATIVE_INFINITY

  constructor(cluster: KeptCluster, clock: Clock, log: Logger) {
    this.#cluster = cluster
    this.#clock = clock
    this.#log = log
  }

  /** The id to save a table with. */
  get clusterId(): string | undefined {
    return this.#cluster.id
  }

  /** True for another cluster; the first cluster heard is the gateway's own. Control of the previous release sends no id. */
  isForeign({ cluster_id: id }: { cluster_id?: string | undefined }): boolean {
    if (id === undefined || !this.#cluster.isOther(id)) {
      this.#cluster.learn(id)
      return false
    }
    const nowMs = this.#clock.nowMs()
    this.#last = { id, atMs: nowMs }
    if (nowMs - this.#toldMs >= TOLD_EVERY_MS) {
      this.#toldMs = nowMs
      this.#log.error({ cluster: this.#cluster.id, other: id }, `gateway: ${this.#text(id)}`)
    }
    return true
  }

  /** The problem, while such tables arrive. */
  note(): string | undefined {
    if (!this.#last || this.#clock.nowMs() - this.#last.atMs > NOTED_FOR_MS) return undefined
    return this.#text(this.#last.id)
  }

  #text(id: string): string {
    return `routing tables of another cluster (${id}) arrive over the bus and are rejected; serving from the last table of this cluster (${this.#cluster.id})`
  }
}
