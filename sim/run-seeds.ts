import { helpText, listText } from './arguments-help.ts'
import { DEFAULT_SEEDS, parseArguments, type Arguments, type Choices } from './arguments.ts'
import { reportJson } from './report/report-json.ts'
import { report } from './report/report.ts'
import { explain } from './shrink/shrink-failure.ts'
import { withFaults } from './shrink/shrink-faults.ts'
import type { Scenario } from './simulate.ts'
import type { Order, Ran } from './soak/soak-order.ts'
import { Progress } from './soak/soak-progress.ts'
import { soak } from './soak/soak.ts'

/** What the command needs of the world around it. */
export interface Surroundings {
  choices: Choices
  run: (order: Order, signal: AbortSignal) => Promise<Ran | undefined>
  /** `--planted`: prints how soon each of them is caught, and says whether all were. */
  showPlanted: (asked: Arguments) => Promise<boolean>
  print: (text: string) => void
  complain: (text: string) => void
  isTerminal: boolean
  nowMs: () => number
  cores: number
  /** A seed that nobody has run yet, for a soak. */
  newSeed: () => number
  commit: () => string
  /** Ctrl-C. */
  signal: AbortSignal
}

/** The whole command. Its exit code: 0 all checks held, 1 one was violated, 2 the options make no sense, 130 called off. */
export async function runSeeds(args: string[], around: Surroundings): Promise<number> {
  const { choices, print, complain, showPlanted } = around
  const parsed = parseArguments(args, choices)
  switch (parsed.kind) {
    case 'help':
      print(helpText())
      return 0
    case 'faults':
      print(listText('Kinds of faults, for --faults:', choices.faults))
      return 0
    case 'bugs':
      print(listText('Planted bugs, for --bug:', choices.bugs))
      return 0
    case 'mistake':
      complain(`${parsed.message}\n`)
      return 2
    case 'planted':
      return (await showPlanted(parsed.arguments)) ? 0 : 1
    case 'run':
      return await runAndReport(parsed.arguments, around)
  }
}

async function runAndReport(asked: Arguments, around: Surroundings): Promise<number> {
  const { run, print, complain, isTerminal, nowMs, cores, signal, commit } = around
  const jobs = asked.jobs ?? cores
  const seeds = asked.soakMs === undefined ? (asked.seeds ?? DEFAULT_SEEDS) : undefined
  const progress = new Progress({ write: complain, isTerminal, nowMs, seeds, soakMs: asked.soakMs })
  const startMs = nowMs()
  progress.say(() => 'the first runs are under way')
  const tally = await soak({
    nextSeed: seedsOf(asked, seeds, around),
    run: (seed, called) => run({ scenario: scenarioOf(asked, seed), lines: 0 }, called),
    jobs,
    keepsGoing: asked.keepsGoing,
    onRan: (so, outcome) => progress.onRan(so, outcome),
    signal,
  })
  const wallMs = nowMs() - startMs
  const isCutShort = signal.aborted
  const [failure] = tally.failures
  const explained =
    failure &&
    (await explain(scenarioOf(asked, failure.seed), failure, {
      run,
      shrinkMs: asked.shrinkS * 1000,
      onTry: (tries) => progress.say(() => `seed ${failure.seed} failed; looking for a shorter run: try ${tries}`),
      signal,
    }))
  progress.end()
  const reported = { asked, tally, commit: commit(), wallMs, jobs, isCutShort, explained }
  print(asked.asJson ? reportJson(reported) : report(reported))
  if (tally.failed > 0) return 1
  // A soak for ever is ended by hand: nothing has gone wrong.
  return isCutShort && asked.soakMs === undefined ? 130 : 0
}

/** One after the other; with a soak until its time is over. */
function seedsOf(
  asked: Arguments,
  seeds: number | undefined,
  { nowMs, newSeed }: Surroundings,
): () => number | undefined {
  const first = asked.seed ?? (asked.soakMs === undefined ? 1 : newSeed())
  const untilMs = nowMs() + (asked.soakMs ?? Infinity)
  let next = first
  return () => ((seeds !== undefined && next >= first + seeds) || nowMs() >= untilMs ? undefined : next++)
}

function scenarioOf({ nodes, models, hours, untilHours, faults, bug, onlyFaults }: Arguments, seed: number): Scenario {
  const scenario: Scenario = { seed, nodes, models, hours, untilHours, faults, bug }
  return onlyFaults ? withFaults(scenario, onlyFaults) : scenario
}
