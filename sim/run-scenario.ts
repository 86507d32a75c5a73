import { Traffic } from './clients/traffic.ts'
import type { Cluster } from './cluster.ts'
import { Operator } from './faults/operator.ts'
import type { Scenario } from './simulate.ts'
import { streamOf } from './streams.ts'

const QUIET_MS = 10 * 60_000

/** Of each model to have a rule from the start. */
const RULED = 0.5

/** Plays a scenario on a cluster: how it begins, what goes wrong, and what must be so at the end. */
export class Run {
  faultsInjected = 0
  readonly #cluster: Cluster
  readonly #scenario: Scenario
  readonly #modelNames: readonly string[]
  readonly #traffic: Traffic

  constructor(cluster: Cluster, scenario: Scenario) {
    const { seed, models } = scenario
    this.#cluster = cluster
    this.#scenario = scenario
    this.#modelNames = Array.from({ length: models }, (_, index) => `m${index + 1}`)
    this.#traffic = new Traffic(cluster, streamOf(seed, 'traffic'), this.#modelNames)
  }

  async play(): Promise<{ check: string; message: string } | undefined> {
    const { queue, store } = this.#cluster
    const { hours, seed } = this.#scenario
    const begin = streamOf(seed, 'begin')
    const operator = new Operator(this.#cluster, begin)
    queue.after(1000, () => {
      for (const name of this.#modelNames) {
        operator.changeModel(name)
        if (begin.chance(RULED)) operator.changeRule(name)
      }
    })
    for (const machine of this.#cluster.machines) {
      if (!begin.chance(0.1)) queue.after(25_000, () => operator.approve(machine))
    }
    this.#traffic.start()
    await queue.runUntil(queue.nowMs + hours * 3_600_000, () => store.assertClosed())
    this.#traffic.stop()
    await queue.runUntil(queue.nowMs + QUIET_MS, () => store.assertClosed())
    return undefined
  }
}
