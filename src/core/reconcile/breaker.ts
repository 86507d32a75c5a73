import type { Rule } from '../types.ts'
import type { Plan } from './plan.ts'

/** Passes in a row without room before a rule is called unsatisfiable: at every start there is a moment without nodes. */
const TICKS = 3
/** Passes that were woken one after the other are one. */
const TICK_MS = 3000
/** The pause before the leader reports it again. The rule is met the moment there is room all the same. */
const OPEN_MS = 5 * 60_000

export interface BreakerMove {
  modelName: string
  untilMs: number | null
  ticks: number
  /** It was found to be unsatisfiable just now, or can be met again; undefined while it is being counted. */
  news: 'unsatisfiable' | 'satisfiable' | undefined
}

/**
 * What becomes of each rule that found no room, or finds it again. Every pass looks for room anew, and that costs no load
 * attempt, so whatever makes room (a node, a label, a slot, memory) ends the wait at once; the breaker says since when
 * there is none, and keeps us from saying it all the time. Nothing is placed while it is open: a pass that finds room for
 * some of what is missing closes it, and those after it find out whether there is more. `tickedMs` is when each rule was
 * last counted.
 */
export function moveBreakers(
  rules: readonly Rule[],
  plan: Pick<Plan, 'steps' | 'unmet' | 'untried'>,
  nowMs: number,
  tickedMs: ReadonlyMap<string, number>,
): BreakerMove[] {
  const unmet = new Set(plan.unmet.filter(lacksRoom).map(({ modelName }) => modelName))
  const placed = new Set(plan.steps.flatMap((step) => (step.kind === 'reserve' ? [step.modelName] : [])))
  const untried = new Set(plan.untried)
  return rules.flatMap(({ modelName, unsatisfiableTicks: ticks, unsatisfiableUntilMs: untilMs }): BreakerMove[] => {
    const isTold = ticks >= TICKS
    const isDue = nowMs - (tickedMs.get(modelName) ?? 0) >= TICK_MS
    if (placed.has(modelName) && (unmet.has(modelName) || untried.has(modelName))) {
      if (untilMs !== null) return [{ modelName, untilMs: null, ticks, news: undefined }]
      if (untried.has(modelName) || !isDue || ticks + 1 >= TICKS) return []
      return [{ modelName, untilMs, ticks: ticks + 1, news: undefined }]
    }
    // A pass that did not look for room proves nothing either way.
    if (untried.has(modelName)) return []
    if (!unmet.has(modelName)) {
      if (ticks === 0 && untilMs === null) return []
      return [{ modelName, untilMs: null, ticks: 0, news: isTold ? 'satisfiable' : undefined }]
    }
    if ((untilMs !== null && untilMs > nowMs) || !isDue) return []
    const isOpen = ticks + 1 >= TICKS
    // Reported when it begins, not while it goes on.
    const news = isOpen && !isTold ? 'unsatisfiable' : undefined
    return [{ modelName, untilMs: isOpen ? nowMs + OPEN_MS : null, ticks: ticks + 1, news }]
  })
}

/** Neither what is in use nor what failed to start is a want of room: the one becomes idle, the other is tried again. */
function lacksRoom({ isBusy, missing, refusals }: Plan['unmet'][number]): boolean {
  return !isBusy && missing > refusals.filter(({ filter }) => filter === 'failing').length
}
