import type { Cluster } from '../cluster.ts'
import type { Scenario } from '../simulate.ts'
import { streamOf } from '../streams.ts'
import { faultNames, faultOf, weightOf, type FaultName } from './kinds.ts'
import { Scene } from './scene.ts'

/** Of each kind of fault to be part of a run. */
const PART_OF_RUN = 0.6
/** One run in so many knows all kinds. */
const KNOWS_ALL = 0.2
const MEAN_WAITS_MS = { short: [5000, 15_000, 40_000], long: [60_000, 120_000, 300_000] }
const LONG_HOURS = 3

/**
 * Each run draws its own kinds of faults and its own pace. With all of them all of the time, none would ever meet a
 * cluster that has been left alone for long enough to be somewhere interesting. When each comes and what it is, is drawn
 * from a stream of its own: one that is left out changes nothing of the others.
 */
export class Faults {
  injected = 0
  readonly #cluster: Cluster
  readonly #scenario: Scenario
  readonly #modelNames: readonly string[]
  readonly #weighted: FaultName[]
  readonly #meanWaitMs: number
  readonly #heals = new Set<() => void>()
  #ordinal = 0
  #isOn = true

  constructor(cluster: Cluster, scenario: Scenario, modelNames: readonly string[]) {
    const random = streamOf(scenario.seed, 'faults')
    this.#cluster = cluster
    this.#scenario = scenario
    this.#modelNames = modelNames
    const all = random.chance(KNOWS_ALL)
    const drawn = faultNames.filter(() => random.chance(PART_OF_RUN) || all)
    const kinds = scenario.faults ? (scenario.faults as FaultName[]) : drawn
    this.#weighted = kinds.flatMap((name) => Array.from({ length: weightOf(name) }, () => name))
    const waits = scenario.hours > LONG_HOURS ? MEAN_WAITS_MS.long : MEAN_WAITS_MS.short
    this.#meanWaitMs = random.oneOf(waits)!
  }

  start(): void {
    this.#next()
  }

  /** No new ones, and those under way end now. */
  stop(): void {
    this.#isOn = false
    for (const heal of this.#heals) heal()
  }

  #next(): void {
    const { seed, mostFaults = Infinity, skipFaults } = this.#scenario
    const ordinal = (this.#ordinal += 1)
    if (ordinal > mostFaults || this.#weighted.length === 0) return
    const random = streamOf(seed, `fault ${ordinal}`)
    const name = random.oneOf(this.#weighted)!
    this.#cluster.queue.after(random.waitMs(this.#meanWaitMs), () => {
      if (!this.#isOn) return
      if (!skipFaults?.has(ordinal)) {
        const what = faultOf(name)(new Scene(this.#cluster, random, this.#modelNames, this.#heals))
        this.injected += 1
        this.#cluster.trace.add('fault', `#${ordinal} ${name}: ${what ?? 'nothing to do'}`)
      }
      this.#next()
    })
  }
}
