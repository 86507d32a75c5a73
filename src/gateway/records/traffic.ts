import type { GatewayTrafficMessage } from '../../api/bus/messages.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { errorTable } from '../../platform/errors.ts'
import type { Decision } from './decision.ts'

export interface TrafficDeps {
  bus: Pick<Bus, 'publish' | 'isConnected'>
  clock: Clock
  /** Names this run of this gateway: its counts begin at 0 with each run. */
  runId: string
  /** Only names of existing models count, because clients can invent any number of others. */
  isModel: (name: string) => boolean
}

const CLIENT_GONE = errorTable.client_gone.status
const REPORT_EVERY_MS = 1000
/** A model or replica without a request for this long leaves the reports; its count begins at 0 if it returns. */
const TOLD_FOR_MS = 60_000
/** Beyond these a new name is counted only once another has been idle for a minute. A report stays below 1 MiB. */
const MOST_MODELS = 1000
const MOST_REPLICAS = 5000

interface ModelCounts {
  requests: number
  errors: number
  firstByteMs: number
  durationMs: number
  lastMs: number
}

interface ReplicaCounts {
  requests: number
  lastMs: number
}

/** Counts the requests that this gateway served. It reports every second while requests end, and once more afterwards. */
export class GatewayTraffic {
  readonly #deps: TrafficDeps
  readonly #models = new Map<string, ModelCounts>()
  readonly #replicas = new Map<string, ReplicaCounts>()
  #seq = 0
  #isChanged = false
  #cancelReport: (() => void) | undefined
  #disposed = false

  constructor(deps: TrafficDeps) {
    this.#deps = deps
  }

  /** Called for every request: two lookups and some additions, and no allocation for a known model and replica. */
  ended({ model, status, atMs, firstByteMs, endedMs, tries }: Decision): void {
    if (model === null) return
    const counts = this.#models.get(model) ?? this.#newModel(model)
    if (!counts) return
    counts.requests += 1
    // A client that goes away is not an error of the service.
    if (status >= 400 && status !== CLIENT_GONE) counts.errors += 1
    // Without an engine's answer, the gateway's own answer counts as the first byte.
    counts.firstByteMs += Math.max(0, (firstByteMs === 0 ? endedMs : firstByteMs) - atMs)
    counts.durationMs += Math.max(0, endedMs - atMs)
    counts.lastMs = endedMs
    if (tries.length > 0) this.#countReplica(tries[tries.length - 1]!.route.replicaId, endedMs)
    this.#isChanged = true
    if (!this.#cancelReport) this.#reportLater()
  }

  dispose(): void {
    this.#disposed = true
    this.#cancelReport?.()
    if (this.#isChanged) this.#report()
  }

  #countReplica(id: string, nowMs: number): void {
    let counts = this.#replicas.get(id)
    if (!counts) {
      if (this.#replicas.size >= MOST_REPLICAS) return
      this.#replicas.set(id, (counts = { requests: 0, lastMs: 0 }))
    }
    counts.requests += 1
    counts.lastMs = nowMs
  }

  #newModel(name: string): ModelCounts | undefined {
    const { isModel, clock } = this.#deps
    if (!isModel(name)) return undefined
    if (this.#models.size >= MOST_MODELS) forgetIdle(this.#models, clock.nowMs())
    if (this.#models.size >= MOST_MODELS) return undefined
    const counts = { requests: 0, errors: 0, firstByteMs: 0, durationMs: 0, lastMs: 0 }
    this.#models.set(name, counts)
    return counts
  }

  #reportLater(): void {
    if (this.#disposed) return
    this.#cancelReport = this.#deps.clock.after(REPORT_EVERY_MS, () => {
      this.#cancelReport = undefined
      const wasChanged = this.#isChanged
      this.#report()
      // Once more without a change, in case the last report was lost.
      if (wasChanged) this.#reportLater()
    })
  }

  #report(): void {
    const { bus, clock, runId } = this.#deps
    this.#isChanged = false
    forgetIdle(this.#models, clock.nowMs())
    forgetIdle(this.#replicas, clock.nowMs())
    this.#seq += 1
    // While disconnected, the bus client would queue the report and deliver it when it is outdated.
    if (bus.isConnected()) bus.publish('gatewayTraffic', { gateway: runId, seq: this.#seq, ...this.#counts() })
  }

  #counts(): Pick<GatewayTrafficMessage, 'models' | 'replicas'> {
    const models = [...this.#models].map(([name, { requests, errors, firstByteMs, durationMs }]) => [
      name,
      { requests, errors, first_byte_ms: Math.round(firstByteMs), duration_ms: Math.round(durationMs) },
    ])
    const replicas = [...this.#replicas].map(([id, { requests }]) => [id, requests])
    return { models: Object.fromEntries(models), replicas: Object.fromEntries(replicas) }
  }
}

function forgetIdle(counts: Map<string, { lastMs: number }>, nowMs: number): void {
  for (const [name, { lastMs }] of counts) if (nowMs - lastMs > TOLD_FOR_MS) counts.delete(name)
}
