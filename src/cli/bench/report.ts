import type { Balance } from './load/balance.ts'
import { Histogram, QUANTILE_ERROR } from './histogram.ts'
import type { Plan } from './load/mix.ts'
import type { FailureKind } from './load/outcome.ts'
import type { Results, Tally } from './results.ts'

/** Times in milliseconds. */
export interface Spread {
  count: number
  mean: number
  p50: number
  p90: number
  p95: number
  p99: number
  max: number
}

export interface Figures {
  requests: {
    due: number
    sent: number
    not_sent: number
    answered: number
    streamed: number
    failed: number
    cut: number
    empty: number
    unfinished: number
    /** On a new connection, since a kept one had ended when it was taken. */
    sent_again: number
  }
  answered_per_s: number
  tokens_in: number
  tokens_out: number
  tokens_in_per_s: number
  tokens_out_per_s: number
  /** Where the numbers of tokens come from. */
  tokens_from: 'usage' | 'estimated' | 'usage, some estimated'
  /** From when a request was due to the first word of its answer; streamed answers only. */
  first_token_ms: Spread
  /** Between two parts of a streamed answer. */
  inter_token_ms: Spread
  /** From when a request was due to the end of its answer. */
  whole_ms: Spread
  errors: { kind: FailureKind; detail: string; message: string; count: number }[]
}

export interface BenchReport {
  tool: 'flotilla bench'
  version: string
  url: string
  started_at: string
  /** Ended by Ctrl-C before all requests were sent. */
  interrupted: boolean
  /** From the end of the warm-up to the last answer. */
  elapsed_s: number
  plan: Plan
  all: Figures
  models: ModelReport[]
  /** How this program itself did: its lag adds to all times. */
  driver: { lag_ms: Spread; cpu_share: number; most_in_flight: number }
  quantile_error: number
  timeline: {
    step_s: number
    due: number[]
    answered: number[]
    failed: number[]
    tokens_out: number[]
  }
}

export interface ModelReport extends Figures {
  model: string
  balance: Balance
  /** In the steps of the timeline; null where no request was due. */
  over_time: { first_token_ms: OverTime; whole_ms: OverTime }
  /** The share of streamed answers whose first word had come by a time. */
  first_token_shares: { ms: number; share: number }[]
}

interface OverTime {
  p50: (number | null)[]
  p95: (number | null)[]
}

export interface ReportInput {
  plan: Plan
  results: Results
  balances: ReadonlyMap<string, Balance>
  url: string
  version: string
  startedAt: string
  isInterrupted: boolean
  cpuShare: number
  /** Removed from messages of servers. */
  secret: string
}

/** The result of a run, as plain data; tables and pages are made from it. */
export function makeReport(input: ReportInput): BenchReport {
  const { plan, results, balances, secret } = input
  const tallies = [...results.models.entries()]
  const { pieces } = results.timeline
  const lastEndMs = Math.max(0, ...tallies.map(([, { lastEndMs }]) => lastEndMs))
  const isWhole = !input.isInterrupted && tallies.reduce((sum, [, { due }]) => sum + due, 0) < plan.mostConversations
  const elapsedS = Math.max(lastEndMs, isWhole ? plan.forMs : 0) / 1000
  return {
    tool: 'flotilla bench',
    version: input.version,
    url: withoutUser(input.url),
    started_at: input.startedAt,
    interrupted: input.isInterrupted,
    elapsed_s: round(elapsedS),
    plan,
    all: figuresOf(
      tallies.map(([, tally]) => tally),
      elapsedS,
      secret,
    ),
    models: tallies.map(([model, tally]) => ({
      model,
      balance: balances.get(model) ?? { known: false, why: 'nothing was answered' },
      ...figuresOf([tally], elapsedS, secret),
      over_time: overTimeOf(tally, results.timeline.stepMs),
      first_token_shares: pointsOf(tally.first),
    })),
    driver: {
      lag_ms: spreadOf([results.lag]),
      cpu_share: round(input.cpuShare),
      most_in_flight: results.mostInFlight,
    },
    quantile_error: QUANTILE_ERROR,
    timeline: {
      step_s: results.timeline.stepMs / 1000,
      due: pieces.map(({ due }) => due),
      answered: pieces.map(({ answered }) => answered),
      failed: pieces.map(({ failed }) => failed),
      tokens_out: pieces.map(({ tokensOut }) => tokensOut),
    },
  }
}

function figuresOf(tallies: readonly Tally[], elapsedS: number, secret: string): Figures {
  const sum = (count: (tally: Tally) => number): number => tallies.reduce((total, tally) => total + count(tally), 0)
  const ofKind = (kind: FailureKind): number => sum(({ kinds }) => kinds.get(kind) ?? 0)
  const perS = (count: number): number => (elapsedS === 0 ? 0 : round(count / elapsedS))
  const [answered, estimated] = [sum((tally) => tally.answered), sum((tally) => tally.estimated)]
  const [tokensIn, tokensOut] = [sum((tally) => tally.tokensIn), sum((tally) => tally.tokensOut)]
  return {
    requests: {
      due: sum(({ due }) => due),
      sent: sum(({ sent }) => sent),
      not_sent: sum(({ notSent }) => notSent),
      answered,
      streamed: sum(({ streamed }) => streamed),
      failed: sum(({ failed }) => failed),
      cut: ofKind('cut'),
      empty: ofKind('empty'),
      unfinished: ofKind('unfinished'),
      sent_again: sum(({ sentAgain }) => sentAgain),
    },
    answered_per_s: perS(answered),
    tokens_in: tokensIn,
    tokens_out: tokensOut,
    tokens_in_per_s: perS(tokensIn),
    tokens_out_per_s: perS(tokensOut),
    tokens_from: estimated === 0 ? 'usage' : estimated === answered ? 'estimated' : 'usage, some estimated',
    first_token_ms: spreadOf(tallies.map(({ first }) => first)),
    inter_token_ms: spreadOf(tallies.map(({ gaps }) => gaps)),
    whole_ms: spreadOf(tallies.map(({ whole }) => whole)),
    errors: errorsOf(tallies, secret),
  }
}

/** The most frequent first. */
function errorsOf(tallies: readonly Tally[], secret: string): Figures['errors'] {
  const all = new Map<string, Figures['errors'][number]>()
  for (const [name, { count, ...failure }] of tallies.flatMap(({ failures }) => [...failures])) {
    const known = all.get(name)
    if (known) known.count += count
    else all.set(name, { ...failure, message: failure.message.replaceAll(secret || '\0', '…'), count })
  }
  return [...all.values()].toSorted((a, b) => b.count - a.count)
}

function spreadOf(histograms: readonly Histogram[]): Spread {
  const all = new Histogram()
  for (const one of histograms) all.merge(one)
  const at = (share: number): number => round(all.quantile(share))
  const { count, mean, most } = all
  return { count, mean: round(mean), p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: round(most) }
}

function overTimeOf({ timeline }: Tally, stepMs: number): ModelReport['over_time'] {
  timeline.widenTo(stepMs)
  const at = (histogram: Histogram | undefined, share: number): number | null =>
    histogram ? round(histogram.quantile(share)) : null
  const of = (what: 'first' | 'whole') => ({
    p50: timeline.pieces.map((piece) => at(piece[what], 0.5)),
    p95: timeline.pieces.map((piece) => at(piece[what], 0.95)),
  })
  return { first_token_ms: of('first'), whole_ms: of('whole') }
}

/** No more than a plot can show. */
const MOST_POINTS = 200

function pointsOf(histogram: Histogram): { ms: number; share: number }[] {
  const all = [...histogram.shares()].map(({ value, share }) => ({ ms: round(value), share: round(share) }))
  const every = Math.ceil(all.length / MOST_POINTS)
  return all.filter((_, i) => i % every === 0 || i === all.length - 1)
}

function withoutUser(url: string): string {
  return new URL(url).origin
}

/** Further digits would be noise. */
function round(value: number): number {
  return value >= 1000 ? Math.round(value) : Number(value.toPrecision(4))
}
