import { HISTORY_STEP_MS, HISTORY_STEPS, type LiveTraffic, type Traffic as View } from '../../api/admin/live-schemas.ts'
import type { GatewayTrafficMessage } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { StepCounts, type Counts } from './step-counts.ts'

/** Over so many steps a rate is taken, and as much as has passed of the one that runs. */
const RATE_STEPS = 5
/** Figures are computed at most this often: they are about seconds, and each update would send them all. */
const VIEW_EVERY_MS = 1000
/** Silence is ordinary for a gateway without requests; one for so long is gone. The longest silent makes room. */
const FORGOTTEN_AFTER_MS = 3_600_000
const MOST_GATEWAYS = 200
const MOST_MODELS = 1000
const MOST_REPLICAS = 10_000

interface Gateway {
  atMs: number
  report: GatewayTrafficMessage
}

/**
 * What all gateways have served in the last minute, from what each says it has served since it began. Only differences count,
 * so a lost report is made good by the next, and one that began anew is not taken for a loss.
 */
export class Traffic {
  readonly #clock: Clock
  readonly #gateways = new Map<string, Gateway>()
  readonly #models = new Map<string, StepCounts>()
  readonly #replicas = new Map<string, StepCounts>()
  #view: { untilMs: number; fromMs: number; value: LiveTraffic } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  hear(report: GatewayTrafficMessage): void {
    const nowMs = this.#clock.nowMs()
    const known = this.#gateways.get(report.gateway)
    this.#remember(report, nowMs)
    // Requests from before we listened are not current traffic, unless this is the gateway's first report.
    if (!known && report.seq > 1) return
    // What a gateway publishes arrives in order: a number that is no higher is of another run of it.
    const before = known && known.report.seq < report.seq ? known.report : { models: {}, replicas: {} }
    for (const [name, now] of Object.entries(report.models)) {
      const added = addedSince(own(before.models, name), now)
      if (added) this.#count(this.#models, name, MOST_MODELS, added, nowMs)
    }
    for (const [id, requests] of Object.entries(report.replicas)) {
      const had = own(before.replicas, id) ?? 0
      const added = requests < had ? requests : requests - had
      if (added > 0) this.#count(this.#replicas, id, MOST_REPLICAS, { ...NOTHING, requests: added }, nowMs)
    }
  }

  view(): LiveTraffic {
    const nowMs = this.#clock.nowMs()
    const last = this.#view
    if (last && nowMs < last.untilMs && nowMs >= last.fromMs) return last.value
    const value = this.#draw(nowMs)
    this.#view = { fromMs: nowMs, untilMs: nowMs + VIEW_EVERY_MS, value }
    return value
  }

  #draw(nowMs: number): LiveTraffic {
    for (const counts of [this.#models, this.#replicas]) {
      for (const [name, one] of counts) if (one.isEmpty(nowMs)) counts.delete(name)
    }
    const models = [...this.#models]
    const rates = [...this.#replicas].map(([id, one]): [string, number] => [id, rateOf(one, nowMs).requests])
    return {
      cluster: viewOf(
        models.map(([, one]) => one),
        nowMs,
      ),
      models: Object.fromEntries(models.map(([name, one]) => [name, viewOf([one], nowMs)])),
      replicas: Object.fromEntries(rates.filter(([, rate]) => rate > 0)),
    }
  }

  #remember(report: GatewayTrafficMessage, nowMs: number): void {
    // Anew, so that the longest silent one is the first.
    this.#gateways.delete(report.gateway)
    for (const [name, { atMs }] of this.#gateways) {
      if (this.#gateways.size < MOST_GATEWAYS && nowMs - atMs < FORGOTTEN_AFTER_MS) break
      this.#gateways.delete(name)
    }
    this.#gateways.set(report.gateway, { atMs: nowMs, report })
  }

  #count(all: Map<string, StepCounts>, name: string, most: number, added: Counts, nowMs: number): void {
    let counts = all.get(name)
    if (!counts) {
      if (all.size >= most) return
      // One more than are shown: the one that runs.
      counts = new StepCounts(HISTORY_STEP_MS, HISTORY_STEPS + 1)
      all.set(name, counts)
    }
    counts.add(added, nowMs)
  }
}

const NOTHING: Counts = { requests: 0, errors: 0, first_byte_ms: 0, duration_ms: 0 }

/** Undefined when nothing was. Fewer than before: it was idle so long that the gateway has forgotten it and begun anew. */
function addedSince(before: Counts | undefined, now: Counts): Counts | undefined {
  if (!before || now.requests < before.requests) return now.requests > 0 ? now : undefined
  if (now.requests === before.requests) return undefined
  return {
    requests: now.requests - before.requests,
    errors: Math.max(0, now.errors - before.errors),
    first_byte_ms: Math.max(0, now.first_byte_ms - before.first_byte_ms),
    duration_ms: Math.max(0, now.duration_ms - before.duration_ms),
  }
}

function viewOf(parts: readonly StepCounts[], nowMs: number): View {
  const total = { ...NOTHING }
  const rate = { requests: 0, errors: 0 }
  const history = Array.from({ length: HISTORY_STEPS }, () => 0)
  for (const part of parts) {
    const minute = part.sum(nowMs, HISTORY_STEPS)
    total.requests += minute.requests
    total.first_byte_ms += minute.first_byte_ms
    total.duration_ms += minute.duration_ms
    const { requests, errors } = rateOf(part, nowMs)
    rate.requests += requests
    rate.errors += errors
    for (const [i, count] of part.requests(nowMs, HISTORY_STEPS).entries()) history[i]! += count
  }
  const mean = (sum: number): number | null => (total.requests === 0 ? null : rounded(sum / total.requests))
  return {
    rate: rounded(rate.requests),
    error_rate: rounded(rate.errors),
    latency_ms: mean(total.duration_ms),
    first_byte_ms: mean(total.first_byte_ms),
    history,
  }
}

function rateOf(counts: StepCounts, nowMs: number): { requests: number; errors: number } {
  const seconds = (RATE_STEPS * HISTORY_STEP_MS + counts.elapsedMs(nowMs)) / 1000
  const { requests, errors } = counts.sum(nowMs, RATE_STEPS)
  return { requests: rounded(requests / seconds), errors: rounded(errors / seconds) }
}

/** People read three digits, and less is sent. */
function rounded(figure: number): number {
  return Number(figure.toPrecision(3))
}

/** Not by plain indexing: a model may be called `constructor`. */
function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}
