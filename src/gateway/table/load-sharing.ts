import type { GatewayLoadMessage } from '../../api/bus/messages.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Clock } from '../../platform/run/clock.ts'

export interface LoadSharingDeps {
  bus: Pick<Bus, 'publish' | 'subscribe' | 'isConnected'>
  clock: Clock
  /** Names this run of this gateway: the sequence numbers of its reports begin anew with each run. */
  runId: string
  table: {
    ownCounts(): Record<string, number>
    setElsewhere(counts: ReadonlyMap<string, number>): void
  }
  /** Requests that wait for a place, by model, without zeros. */
  waiting?: () => Record<string, number>
  /** Nodes that this gateway cannot connect to. */
  unreachable?: () => NonNullable<GatewayLoadMessage['unreachable']>
}

/**
 * The least time between two reports: the other gateways' view of this one is at most so old, and the bus load is bounded.
 * Every gateway hears all others, so messages grow with the square of their number: beyond twenty each reports less often.
 */
const REPORT_EVERY_MS = 200
const REPORT_PER_GATEWAY_MS = 10
/** Reports repeat without a change while requests are in flight, because silence means none. */
const REPEAT_EVERY_MS = 1000
/** A gateway that is silent for this long has no requests, or has gone. */
const SILENT_AFTER_MS = 2000
/** Reports that arrive within this time are summed together; the time grows with the number of gateways. */
const GATHER_MS = 10
const MOST_GATHER_MS = 100
/** The most replicas of one report, the busiest first; it so stays well below the bus's limit of 1 MiB. */
const MOST_REPLICAS = 15_000
const MOST_GATEWAYS = 1000

type Load = Pick<GatewayLoadMessage, 'counts' | 'waiting' | 'unreachable'>
const NOTHING: Load = { counts: {} }

/**
 * Tells the other gateways how many requests this one has in flight, and learns theirs, so that all of them pick as if they
 * were one. No request waits for this: while the bus is away, the others' counts expire and the own ones continue.
 */
export class LoadSharing {
  readonly #deps: LoadSharingDeps
  readonly #others = new Map<string, { seq: number; counts: [string, number][]; forget: () => void }>()
  #seq = 0
  #sent = JSON.stringify(NOTHING)
  #sentMs = -Infinity
  #cancelReport: (() => void) | undefined
  #cancelRepeat = (): void => {}
  #cancelSum: (() => void) | undefined
  #disposed = false

  constructor(deps: LoadSharingDeps) {
    this.#deps = deps
    deps.bus.subscribe('gatewayLoad', (report) => this.#hear(report))
  }

  /** A request has begun or ended. Cheap: the report is made later, for all that happen now. */
  changed(): void {
    if (this.#disposed || this.#cancelReport) return
    const { clock } = this.#deps
    const everyMs = Math.min(REPEAT_EVERY_MS, Math.max(REPORT_EVERY_MS, this.#others.size * REPORT_PER_GATEWAY_MS))
    const waitMs = Math.max(0, this.#sentMs + everyMs - clock.nowMs())
    // Bounded, so that a clock that was set back does not delay the report.
    this.#cancelReport = clock.after(Math.min(waitMs, everyMs), () => {
      this.#cancelReport = undefined
      const load = this.#ownLoad()
      if (JSON.stringify(load) !== this.#sent) this.#report(load)
    })
  }

  /** Reports a last time, with nothing in flight. */
  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    this.#cancelReport?.()
    this.#cancelSum?.()
    this.#report(NOTHING)
    for (const { forget } of this.#others.values()) forget()
  }

  #report(load: Load): void {
    const { bus, clock, runId } = this.#deps
    this.#cancelRepeat()
    this.#sent = JSON.stringify(load)
    this.#sentMs = clock.nowMs()
    this.#seq += 1
    // While disconnected, the bus client would queue the report and deliver it when it is outdated.
    if (bus.isConnected()) bus.publish('gatewayLoad', { gateway: runId, seq: this.#seq, ...load })
    if (this.#sent === JSON.stringify(NOTHING)) return
    this.#cancelRepeat = clock.after(REPEAT_EVERY_MS, () => this.#report(this.#ownLoad()))
  }

  #ownLoad(): Load {
    const waiting = this.#deps.waiting?.() ?? {}
    const unreachable = this.#deps.unreachable?.() ?? []
    return {
      counts: this.#ownCounts(),
      ...(Object.keys(waiting).length > 0 && { waiting }),
      ...(unreachable.length > 0 && { unreachable }),
    }
  }

  #ownCounts(): Record<string, number> {
    const counts = this.#deps.table.ownCounts()
    const entries = Object.entries(counts)
    if (entries.length <= MOST_REPLICAS) return counts
    return Object.fromEntries(entries.toSorted(([, a], [, b]) => b - a).slice(0, MOST_REPLICAS))
  }

  #hear({ gateway, seq, counts }: GatewayLoadMessage): void {
    const { clock, runId } = this.#deps
    if (this.#disposed || gateway === runId) return
    const known = this.#others.get(gateway)
    if (known ? seq <= known.seq : this.#others.size >= MOST_GATEWAYS) return
    known?.forget()
    // Remembered even with nothing in flight, or a late report would bring back ended requests.
    const forget = clock.after(SILENT_AFTER_MS, () => {
      this.#others.delete(gateway)
      this.#sumSoon()
    })
    this.#others.set(gateway, { seq, counts: Object.entries(counts), forget })
    this.#sumSoon()
  }

  #sumSoon(): void {
    const gatherMs = Math.min(MOST_GATHER_MS, Math.max(GATHER_MS, this.#others.size))
    this.#cancelSum ??= this.#deps.clock.after(gatherMs, () => {
      this.#cancelSum = undefined
      const sum = new Map<string, number>()
      for (const { counts } of this.#others.values()) {
        for (const [replica, count] of counts) sum.set(replica, (sum.get(replica) ?? 0) + count)
      }
      this.#deps.table.setElsewhere(sum)
    })
  }
}
