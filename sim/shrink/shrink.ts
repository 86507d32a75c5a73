import { faultsOf, withFaults } from './shrink-faults.ts'
import type { Outcome, Scenario } from '../simulate.ts'

const HOUR_MS = 3_600_000
/** Numbers of nodes and of models that are tried, the smallest first. */
const SIZES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
/** Each round makes the next one cheaper, and hardly anything is gained after the second. */
const MOST_ROUNDS = 4

export interface Shrunk {
  scenario: Scenario
  outcome: Outcome
  /** The numbers of the faults that are left. */
  faults: number[]
  /** How many runs it took to find it. */
  runs: number
  /** False when time was over before everything had been tried. */
  isDone: boolean
}

/** Runs a scenario; undefined when there is no time left for it. */
export type RunOnce = (scenario: Scenario) => Promise<Outcome | undefined>

/**
 * A shorter run that breaks the same promise: it ends earlier, has only the faults that matter, then fewer machines and
 * models. Nothing is assumed about why it fails; what does not break the same promise is not taken.
 */
export async function shrink(scenario: Scenario, outcome: Outcome, run: RunOnce): Promise<Shrunk> {
  const search = new Search(scenario, outcome, run)
  for (let round = 1, had = ''; round <= MOST_ROUNDS && had !== search.fingerprint(); round += 1) {
    had = search.fingerprint()
    await search.endEarlier()
    await search.cutTail()
    await search.leaveOut()
    await search.makeSmaller()
  }
  return search.found()
}

class Search {
  readonly #check: string
  readonly #run: RunOnce
  #scenario: Scenario
  #outcome: Outcome
  #faults: number[]
  #runs = 0
  #isOver = false

  constructor(scenario: Scenario, outcome: Outcome, run: RunOnce) {
    this.#check = outcome.violation!.check
    this.#run = run
    this.#scenario = scenario
    this.#outcome = outcome
    this.#faults = faultsOf(scenario, outcome.faultsInjected)
  }

  found(): Shrunk {
    const [scenario, outcome, faults] = [withFaults(this.#scenario, this.#faults), this.#outcome, this.#faults]
    return { scenario, outcome, faults, runs: this.#runs, isDone: !this.#isOver }
  }

  fingerprint(): string {
    const { nodes, models, untilHours } = this.#scenario
    return JSON.stringify([nodes, models, untilHours, this.#faults])
  }

  /**
   * What comes after the violation cannot matter, and every later try is shorter for it. A promise that is only looked at
   * in the quiet time at the end moves with the end: there it is a guess like any other.
   */
  async endEarlier(): Promise<void> {
    const { untilHours: hours = this.#scenario.hours } = this.#scenario
    const violatedAfter = hoursUp(this.#outcome.violation!.atMs)
    const guesses =
      violatedAfter < hours ? [violatedAfter] : [hours / 8, hours / 4, hours / 2].map((part) => hoursUp(part * HOUR_MS))
    for (const guess of guesses) if (guess < hours && (await this.#try({ untilHours: guess }))) return
  }

  /** The shortest beginning of the faults that is enough. */
  async cutTail(): Promise<void> {
    let tooFew = -1
    let enough = this.#faults.length
    for (let most = 0; enough - tooFew > 1 && !this.#isOver; most = Math.floor((tooFew + enough) / 2)) {
      if (await this.#try({}, this.#faults.slice(0, most))) enough = this.#faults.length
      else tooFew = most
    }
  }

  /** Halves, quarters and so on, down to single faults: what can go goes. */
  async leaveOut(): Promise<void> {
    for (let size = Math.ceil(this.#faults.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = 0; from < this.#faults.length && !this.#isOver;) {
        const fewer = this.#faults.toSpliced(from, size)
        if (!(await this.#try({}, fewer))) from += size
      }
    }
  }

  async makeSmaller(): Promise<void> {
    for (const name of ['nodes', 'models'] as const) {
      for (const size of SIZES) {
        if (size >= this.#scenario[name] || (await this.#try({ [name]: size }))) break
      }
    }
  }

  /** Takes it when it fails as the first one did. */
  async #try(change: Partial<Scenario>, faults: number[] = this.#faults): Promise<boolean> {
    if (this.#isOver) return false
    const scenario = { ...this.#scenario, ...change }
    const outcome = await this.#run(withFaults(scenario, faults))
    if (!outcome) this.#isOver = true
    else this.#runs += 1
    if (outcome?.violation?.check !== this.#check) return false
    this.#scenario = scenario
    this.#outcome = outcome
    // Faults that were to come after the violation have gone by themselves.
    this.#faults = faults.slice(0, outcome.faultsInjected)
    return true
  }
}

/** Rounded up to a thousandth, 3.6 s, so that it can be typed. */
function hoursUp(ms: number): number {
  return Math.max(1, Math.ceil((1000 * ms) / HOUR_MS)) / 1000
}
