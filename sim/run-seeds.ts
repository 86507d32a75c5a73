import { helpText, parseArguments, type Arguments } from './arguments.ts'
import { realParts } from './parts.ts'
import { report } from './report.ts'
import { simulate, type Outcome } from './simulate.ts'

export interface Ended {
  stdout: string
  stderr: string
  exitCode: number
}

/** The whole command: 0 when all checks held, 1 when one was violated, 2 when the command line makes no sense. */
export function runSeeds(args: string[]): Ended {
  const parsed = parseArguments(args)
  if (parsed.kind === 'help') return { stdout: helpText(), stderr: '', exitCode: 0 }
  if (parsed.kind === 'mistake') return { stdout: '', stderr: `${parsed.message}\n`, exitCode: 2 }
  const outcomes = untilViolated(parsed.arguments)
  const exitCode = outcomes.at(-1)!.violation ? 1 : 0
  return { stdout: report(parsed.arguments, outcomes), stderr: '', exitCode }
}

function untilViolated({ seed: first, runs, broken, ...scenario }: Arguments): Outcome[] {
  const parts = { ...realParts, broken: new Set(broken) }
  const outcomes: Outcome[] = []
  for (let seed = first; seed < first + runs; seed += 1) {
    const outcome = simulate({ ...scenario, seed, parts })
    outcomes.push(outcome)
    if (outcome.violation) break
  }
  return outcomes
}
