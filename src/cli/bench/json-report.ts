import { MOST, type Part, type Plan } from './load/mix.ts'
import type { Range } from './load/random.ts'
import type { BenchReport } from './report.ts'

/** The report with the API's names. Null means no limit. */
export function jsonReport(report: BenchReport): object {
  return { ...report, plan: viewPlan(report.plan) }
}

function viewPlan({ parts, seed, arrivals, ...plan }: Plan): object {
  const isByTime = plan.forMs < MOST.forMs
  return {
    models: parts.map(viewPart),
    seed,
    arrivals,
    for_s: isByTime ? plan.forMs / 1000 : null,
    requests: plan.mostConversations < MOST.requests ? plan.mostConversations : null,
    ramp_s: plan.rampMs / 1000,
    warm_up_s: plan.warmUpMs / 1000,
    most_in_flight: plan.mostInFlight,
    timeout_s: plan.timeoutMs / 1000,
  }
}

function viewPart({ model, ratePerS, prompt, answer, streamShare, turns, thinkMs }: Part): object {
  return {
    model,
    rate_per_s: ratePerS,
    prompt_tokens: viewRange(prompt),
    answer_tokens: viewRange(answer),
    stream_share: streamShare,
    turns: viewRange(turns),
    think_ms: viewRange(thinkMs),
  }
}

function viewRange({ least, most }: Range): [number, number] {
  return [least, most]
}
