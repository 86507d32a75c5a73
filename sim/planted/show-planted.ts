import type { Order, Ran } from '../soak/soak-order.ts'
import { hunt, type Hunted } from './hunt.ts'
import type { PlantedBug } from './planted-bug.ts'
import { plantedBugs } from './planted.ts'

/** Hunts begin at these seeds, far from each other. The tests begin at another. */
const STARTS = [1, 10_001, 20_001, 30_001, 40_001, 50_001, 60_001]
/** A hunt that has not caught it by then has failed. */
const MOST_SEEDS = 100

interface ShowDeps {
  /** Only this one. */
  bug: string | undefined
  jobs: number
  run: (order: Order) => Promise<Ran | undefined>
  print: (text: string) => void
  isCalledOff: () => boolean
}

/** The table of planted bugs, as measured now. False when one of them was not caught as promised. */
export async function showPlanted({ bug, jobs, run, print, isCalledOff }: ShowDeps): Promise<boolean> {
  const bugs = plantedBugs.filter(({ name }) => bug === undefined || name === bug)
  const waiting = [...bugs]
  const rows = new Map<PlantedBug, Row>()
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next && !isCalledOff(); next = waiting.shift())
      rows.set(next, await measure(next, run))
  }
  await Promise.all(Array.from({ length: jobs }, work))
  const done = bugs.flatMap((one) => (rows.has(one) ? [rows.get(one)!] : []))
  print(tableText(done))
  return done.length === bugs.length && done.every(({ isKept }) => isKept)
}

interface Row {
  bug: PlantedBug
  hunts: Hunted[]
  cpuMs: number
  /** Caught each time, within as many seeds as it says. */
  isKept: boolean
}

async function measure(bug: PlantedBug, run: ShowDeps['run']): Promise<Row> {
  let cpuMs = 0
  const hunts: Hunted[] = []
  for (const first of STARTS) {
    const hunted = await hunt(bug, { first, most: MOST_SEEDS }, async (scenario) => {
      const ran = await run({ scenario, lines: 0 })
      cpuMs += ran?.cpuMs ?? 0
      return ran?.outcome
    })
    hunts.push(hunted)
  }
  const isKept = hunts.every(({ isCaught, seeds }) => isCaught && seeds <= bug.withinSeeds)
  return { bug, hunts, cpuMs: cpuMs / STARTS.length, isKept }
}

function tableText(rows: readonly Row[]): string {
  const lines = rows.map(({ bug, hunts, cpuMs, isKept }) => {
    const seeds = hunts.map((one) => (one.isCaught ? one.seeds : Infinity)).toSorted((a, b) => a - b)
    const median = seeds[Math.floor(seeds.length / 2)]!
    return line(
      bug.name,
      bug.caughtBy,
      text(median),
      text(seeds.at(-1)!),
      String(bug.withinSeeds),
      `${(cpuMs / 1000).toFixed(1)} s${isKept ? '' : ' !'}`,
    )
  })
  return [
    `Planted bugs: seeds until the check has caught it, from ${STARTS.length} starting points`,
    '',
    line('bug', 'caught by', 'median', 'most', 'promised', 'CPU'),
    ...lines,
    '',
    rows.every(({ isKept }) => isKept) ? 'All were caught as promised.' : 'Those with ! were not caught as promised.',
    '',
  ].join('\n')
}

function text(seeds: number): string {
  return seeds === Infinity ? `>${MOST_SEEDS}` : String(seeds)
}

function line(name: string, check: string, ...figures: string[]): string {
  return `  ${name.padEnd(28)}${check.padEnd(14)}${figures.map((figure) => figure.padStart(9)).join('')}`.trimEnd()
}
