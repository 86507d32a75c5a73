import type { Plan } from './mix.ts'
import { seededRandom, type Random } from './random.ts'

export interface Arrival {
  /** Since the start. */
  dueMs: number
  /** Which part of the mix. */
  part: number
}

/** When conversations begin, in order, from the plan alone: nothing that happens later moves them. */
export function* schedule(plan: Plan): Generator<Arrival> {
  const untilMs = plan.warmUpMs + plan.forMs
  const lines = plan.parts.map(({ ratePerS }, part) => {
    const times = arrivalTimes(ratePerS / 1000, plan, seededRandom(plan.seed, `arrivals ${part}`))
    return { part, times, dueMs: times.next().value }
  })
  let counted = 0
  for (;;) {
    // A mix has a few parts: to look at each is quicker than a heap.
    let first = lines[0]!
    for (const line of lines) if (line.dueMs < first.dueMs) first = line
    const { dueMs, part } = first
    if (dueMs >= untilMs || counted >= plan.mostConversations) return
    yield { dueMs, part }
    if (dueMs >= plan.warmUpMs) counted += 1
    first.dueMs = first.times.next().value
  }
}

/**
 * Arrivals at one a unit of time, put where the expected number of arrivals reaches them. While the rate grows that is
 * rate × t² / (2 × ramp), afterwards rate × (t − ramp / 2).
 */
function* arrivalTimes(ratePerMs: number, { arrivals, rampMs }: Plan, random: Random): Generator<number, number> {
  const inRamp = (ratePerMs * rampMs) / 2
  for (let reached = 0; ;) {
    reached += arrivals === 'poisson' ? -Math.log(1 - random()) : 1
    yield reached < inRamp ? Math.sqrt((2 * rampMs * reached) / ratePerMs) : reached / ratePerMs + rampMs / 2
  }
}
