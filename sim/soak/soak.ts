import type { Outcome } from '../simulate.ts'
import type { Ran } from './soak-order.ts'
import { Tally } from './soak-tally.ts'

export interface SoakDeps {
  /** The next seed; undefined when there is no more to do. */
  nextSeed: () => number | undefined
  /** Undefined when it was called off. */
  run: (seed: number, signal: AbortSignal) => Promise<Ran | undefined>
  jobs: number
  /** Otherwise the first violation ends it. */
  keepsGoing: boolean
  onRan?: (tally: Tally, outcome: Outcome) => void
  /** Ends it with what there is. */
  signal: AbortSignal
}

/**
 * Runs seeds side by side, given out one by one. With a violation no new one begins, and those that began with a lower
 * seed are waited for: the first failure is the same however many run side by side.
 */
export async function soak({ nextSeed, run, jobs, keepsGoing, onRan, signal }: SoakDeps): Promise<Tally> {
  const tally = new Tally()
  const running = new Map<number, AbortController>()
  let lowestFailed = Infinity

  const onOutcome = ({ seed, violation }: Outcome): void => {
    if (!violation || keepsGoing) return
    lowestFailed = Math.min(lowestFailed, seed)
    for (const [other, controller] of running) if (other > lowestFailed) controller.abort()
  }

  const next = (): number | undefined => (signal.aborted || lowestFailed < Infinity ? undefined : nextSeed())

  const work = async (): Promise<void> => {
    for (let seed = next(); seed !== undefined; seed = next()) {
      const controller = new AbortController()
      running.set(seed, controller)
      const ran = await run(seed, AbortSignal.any([controller.signal, signal]))
      running.delete(seed)
      if (!ran) continue
      tally.add(ran.outcome, ran.cpuMs)
      onOutcome(ran.outcome)
      onRan?.(tally, ran.outcome)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  return tally
}
