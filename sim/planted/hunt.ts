import type { Outcome, Scenario } from '../simulate.ts'
import type { PlantedBug } from './planted-bug.ts'

export interface Hunted {
  /** How many seeds were run; the last of them caught it, if it was caught. */
  seeds: number
  isCaught: boolean
  /** Other checks that failed on the way: a mistake often breaks several promises. */
  others: string[]
  /** What the check said. */
  message: string | undefined
}

/** Runs one seed after another with the bug built in, until the check that must find it has. */
export async function hunt(
  { name, scene, caughtBy }: PlantedBug,
  { first, most }: { first: number; most: number },
  run: (scenario: Scenario) => Promise<Outcome | undefined>,
): Promise<Hunted> {
  const others = new Set<string>()
  for (let seeds = 1; seeds <= most; seeds += 1) {
    const outcome = await run({ ...scene, seed: first + seeds - 1, bug: name })
    const violation = outcome?.violation
    if (violation?.check.startsWith(caughtBy)) {
      return { seeds, isCaught: true, others: [...others], message: violation.message }
    }
    if (violation) others.add(violation.check)
  }
  return { seeds: most, isCaught: false, others: [...others], message: undefined }
}
