import { Histogram } from './histogram.ts'
import type { Failure, FailureKind, Outcome } from './load/outcome.ts'
import { Timeline } from './timeline.ts'

/** Servers may send any number of kinds of errors and of replicas. */
const MOST_KINDS = 40
const MOST_REPLICAS = 1000
/** If gateways do not name replicas, this many requests can be looked up afterwards. */
const MOST_IDS = 2000

/** The results of the requests to one model. */
export class Tally {
  due = 0
  sent = 0
  answered = 0
  streamed = 0
  failed = 0
  notSent = 0
  sentAgain = 0
  tokensIn = 0
  tokensOut = 0
  estimated = 0
  firstDueMs = Number.POSITIVE_INFINITY
  lastEndMs = 0
  readonly first = new Histogram()
  readonly gaps = new Histogram()
  readonly whole = new Histogram()
  readonly failures = new Map<string, Failure & { count: number }>()
  readonly kinds = new Map<FailureKind, number>()
  readonly replicas = new Map<string, { id: string; node: string; count: number }>()
  readonly timeline: Timeline
  /** Of the last requests that were answered. */
  readonly requestIds: string[] = []

  constructor(stepMs: number) {
    this.timeline = new Timeline(stepMs)
  }
}

/** The results of a run. Requests that were due during the warm-up are ignored. */
export class Results {
  readonly models = new Map<string, Tally>()
  readonly timeline: Timeline
  /** How late this program sent requests, by its own fault. */
  readonly lag = new Histogram()
  mostInFlight = 0
  inFlight = 0
  readonly #warmUpMs: number

  constructor(models: readonly string[], { warmUpMs, stepMs }: { warmUpMs: number; stepMs: number }) {
    for (const model of models) this.models.set(model, new Tally(stepMs))
    this.#warmUpMs = warmUpMs
    this.timeline = new Timeline(stepMs)
  }

  /** A request that is due, so long after the start. */
  due(model: string, sinceStartMs: number): Line {
    const atMs = sinceStartMs - this.#warmUpMs
    return new Line(this, atMs < 0 ? undefined : this.models.get(model)!, atMs, this.#warmUpMs)
  }
}

/** Records the result of one request. */
class Line {
  readonly #all: Results
  readonly #tally: Tally | undefined
  readonly #atMs: number
  readonly #warmUpMs: number

  constructor(all: Results, tally: Tally | undefined, atMs: number, warmUpMs: number) {
    this.#all = all
    this.#tally = tally
    this.#atMs = atMs
    this.#warmUpMs = warmUpMs
    if (!tally) return
    tally.due += 1
    tally.firstDueMs = Math.min(tally.firstDueMs, atMs)
    all.timeline.count('due', atMs)
  }

  notSent(): void {
    if (!this.#tally) return
    this.#tally.notSent += 1
    this.#all.timeline.count('failed', this.#atMs)
  }

  sent(lagMs: number, inFlight: number): void {
    this.#all.inFlight = inFlight
    if (!this.#tally) return
    this.#tally.sent += 1
    this.#all.lag.add(Math.max(0, lagMs))
    this.#all.mostInFlight = Math.max(this.#all.mostInFlight, inFlight)
  }

  gap(ms: number): void {
    this.#tally?.gaps.add(ms)
  }

  ended(outcome: Outcome, dueMs: number, sinceStartMs: number): void {
    this.#all.inFlight -= 1
    const tally = this.#tally
    if (!tally) return
    const endMs = sinceStartMs - this.#warmUpMs
    if (outcome.isSentAgain) tally.sentAgain += 1
    tally.lastEndMs = Math.max(tally.lastEndMs, endMs)
    if (outcome.failure) this.#fail(tally, outcome.failure, endMs)
    else this.#answer(tally, outcome, dueMs, endMs)
  }

  #fail(tally: Tally, failure: Failure, endMs: number): void {
    tally.failed += 1
    tally.kinds.set(failure.kind, (tally.kinds.get(failure.kind) ?? 0) + 1)
    const name = `${failure.kind} ${failure.detail}`
    const known = tally.failures.get(name) ?? (tally.failures.size < MOST_KINDS ? undefined : tally.failures.get(OTHER))
    if (known) known.count += 1
    else if (tally.failures.size < MOST_KINDS - 1) tally.failures.set(name, { ...failure, count: 1 })
    else tally.failures.set(OTHER, { kind: failure.kind, detail: OTHER, message: '', count: 1 })
    this.#all.timeline.count('failed', endMs)
  }

  #answer(tally: Tally, outcome: Outcome, dueMs: number, endMs: number): void {
    const { timeline } = this.#all
    tally.answered += 1
    tally.tokensIn += outcome.tokensIn
    tally.tokensOut += outcome.tokensOut
    if (outcome.isEstimated) tally.estimated += 1
    tally.whole.add(outcome.endMs - dueMs)
    timeline.count('answered', endMs)
    timeline.count('tokensOut', endMs, outcome.tokensOut)
    tally.timeline.time('whole', outcome.endMs - dueMs, this.#atMs)
    if (outcome.firstMs !== undefined) {
      tally.streamed += 1
      tally.first.add(outcome.firstMs - dueMs)
      tally.timeline.time('first', outcome.firstMs - dueMs, this.#atMs)
    }
    if (outcome.replica) countReplica(tally, outcome.replica)
    else if (outcome.requestId !== undefined) {
      if (tally.requestIds.length >= MOST_IDS) tally.requestIds.shift()
      tally.requestIds.push(outcome.requestId)
    }
  }
}

const OTHER = 'others'

function countReplica({ replicas }: Tally, { id, node }: { id: string; node: string }): void {
  const known = replicas.get(id)
  if (known) known.count += 1
  else if (replicas.size < MOST_REPLICAS) replicas.set(id, { id, node, count: 1 })
}
