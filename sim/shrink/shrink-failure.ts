import type { Outcome, Scenario } from '../simulate.ts'
import { shrink, type Shrunk } from './shrink.ts'
import type { Order, Ran } from '../soak/soak-order.ts'

/** The lines of a run that are looked through for its transcript. */
const KEPT_LINES = 100_000

export interface Explained extends Shrunk {
  /** All that happened in it, or the end of that. */
  lines: string[]
}

export interface ExplainDeps {
  run: (order: Order, signal: AbortSignal) => Promise<Ran | undefined>
  shrinkMs: number
  onTry?: (tries: number) => void
  signal: AbortSignal
}

/** The shortest run that fails as this one did, as far as there is time to look for it, and what happens in it. */
export async function explain(scenario: Scenario, outcome: Outcome, deps: ExplainDeps): Promise<Explained> {
  const { run, shrinkMs, onTry, signal } = deps
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(Math.round(shrinkMs))])
  let tries = 0
  const shrunk = await shrink(scenario, outcome, async (candidate) => {
    onTry?.((tries += 1))
    if (shrinkMs === 0) return undefined
    return (await run({ scenario: candidate, lines: 0 }, inTime))?.outcome
  })
  // Nothing shorter: then exactly what was asked for, not the same in other words.
  const shortest = shrunk.outcome === outcome ? { ...shrunk, scenario } : shrunk
  const again = await run({ scenario: shortest.scenario, lines: KEPT_LINES }, signal)
  return { ...shortest, lines: again?.outcome.violation ? again.lines : shortest.outcome.violation!.lastLines }
}
