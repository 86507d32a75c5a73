import type { Rule } from '../types.ts'
import type { Plan } from './plan.ts'

/** Passes in a row without room before a rule is called unsatisfiable: at every start there is a moment without nodes. */
const TICKS = 3
/** Passes that were woken one after the other are one. */
const TICK_MS = 3000
/** So long nobody is told of it again. It is met the moment there is room all the same. */
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
 * there is none, and keeps us from saying it all the time. `tickedMs` is when each rule was last counted.
 */
export function moveBreakers(
  rules: readonly Rule[],
  plan: Pick<Plan, 'unmet' | 'untried'>,
  nowMs: number,
  tickedMs: ReadonlyMap<string, number>,
): BreakerMove[] {
  const unmet = new Set(plan.unmet.filter(({ isBusy }) => !isBusy).map(({ modelName }) => modelName))
  const untried = new Set(plan.untried)
  return rules.flatMap(({ modelName, unsatisfiableTicks: ticks, unsatisfiableUntilMs: untilMs }): BreakerMove[] => {
    // A pass that did not look for room says neither that there is none nor that there is.
    if (untried.has(modelName)) return []
    if (!unmet.has(modelName)) {
      if (ticks === 0 && untilMs === null) return []
      return [{ modelName, untilMs: null, ticks: 0, news: untilMs === null ? undefined : 'satisfiable' }]
    }
    if (untilMs !== null && untilMs > nowMs) return []
    if (nowMs - (tickedMs.get(modelName) ?? 0) < TICK_MS) return []
    const isOpen = ticks + 1 >= TICKS
    // Told when it begins; that it goes on is no news.
    const news = isOpen && untilMs === null ? 'unsatisfiable' : undefined
    return [{ modelName, untilMs: isOpen ? nowMs + OPEN_MS : null, ticks: ticks + 1, news }]
  })
}
