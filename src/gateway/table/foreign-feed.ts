import type { Clock } from '../../platform/run/clock.ts'
import type { KeptCluster } from '../../platform/kept-cluster.ts'
import type { Logger } from '../../platform/run/log.ts'

const TOLD_EVERY_MS = 60_000
/** A leader says something every few seconds: one that has been silent for so long has gone. */
const NOTED_FOR_MS = 15_000

/** Keeps tables of other clusters away from a gateway: another control plane on its bus, or one with an empty store. */
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

  /** True when it comes from another cluster; the first cluster that speaks is ours. Control of the release before does not say. */
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

  /** What to tell while such tables come. */
  note(): string | undefined {
    if (!this.#last || this.#clock.nowMs() - this.#last.atMs > NOTED_FOR_MS) return undefined
    return this.#text(this.#last.id)
  }

  #text(id: string): string {
    return `routing tables of another cluster (${id}) come over the bus and are not taken: serving from the last table of our own (${this.#cluster.id})`
  }
}
