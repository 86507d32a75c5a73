import { Traffic } from './clients/traffic.ts'
import { Checks, type Problem } from './checks/checks.ts'
import type { Cluster } from './cluster.ts'
import { Faults } from './faults/faults.ts'
import { Operator } from './faults/operator.ts'
import type { Scenario } from './simulate.ts'
import { streamOf } from './streams.ts'

/** Long enough for silence to be judged, waits to pass, models to load, and idle ones to go. */
const QUIET_MS = 15 * 60_000
/** Somebody looks at machines that went together this long into the quiet time, and says that they are lost. */
const ACCEPTED_AFTER_MS = 4 * 60_000
/** Of each model to have a rule from the start, of each node to be approved at first. */
const RULED = 0.5
const APPROVED = 0.9
/** So often somebody looks for nodes that wait. */
const APPROVE_EVERY_MS = 20 * 60_000
const FAULTS_AFTER_MS = 60_000

/** Plays a scenario on a cluster: how it begins, what goes wrong, and what must be so at the end. */
export class Run {
  readonly #cluster: Cluster
  readonly #scenario: Scenario
  readonly #modelNames: readonly string[]
  readonly #traffic: Traffic
  readonly #faults: Faults
  readonly #checks: Checks

  constructor(cluster: Cluster, scenario: Scenario) {
    const { seed, models } = scenario
    this.#cluster = cluster
    this.#scenario = scenario
    this.#modelNames = Array.from({ length: models }, (_, index) => `m${index + 1}`)
    this.#traffic = new Traffic(cluster, streamOf(seed, 'traffic'), this.#modelNames)
    this.#checks = new Checks(cluster, this.#traffic)
    this.#faults = new Faults(cluster, scenario, this.#modelNames)
  }

  get faultsInjected(): number {
    return this.#faults.injected
  }

  /** The first promise that was broken, if one was. */
  async play(): Promise<Problem | undefined> {
    const { queue } = this.#cluster
    const { hours, untilHours = hours, seed } = this.#scenario
    const operator = new Operator(this.#cluster, streamOf(seed, 'begin'))
    this.#begin(operator)
    this.#traffic.start()
    queue.after(FAULTS_AFTER_MS, () => this.#faults.start())
    await this.#runFor(untilHours * 3_600_000)
    if (this.#checks.problem) return this.#checks.problem
    this.#traffic.stop()
    this.#faults.stop()
    this.#calmDown(operator)
    await this.#runFor(QUIET_MS)
    await this.#checks.atEnd()
    return this.#checks.problem
  }

  async #runFor(ms: number): Promise<void> {
    const { queue, store } = this.#cluster
    await queue.runUntil(queue.nowMs + ms, () => {
      store.assertClosed()
      return this.#checks.problem === undefined
    })
  }

  #begin(operator: Operator): void {
    const { queue, machines } = this.#cluster
    const random = streamOf(this.#scenario.seed, 'rules')
    queue.after(1000, () => {
      for (const name of this.#modelNames) {
        operator.changeModel(name)
        if (random.chance(RULED)) operator.changeRule(name)
      }
    })
    for (const machine of machines) {
      if (random.chance(APPROVED)) queue.after(25_000, () => operator.approve(machine))
    }
    const approveAll = (): void => {
      for (const machine of machines) {
        const node = machine.nodeId === undefined ? undefined : this.#cluster.store.mirror.nodes.get(machine.nodeId)
        if (node && !node.approved) operator.approve(machine)
      }
      queue.after(APPROVE_EVERY_MS, approveAll)
    }
    queue.after(APPROVE_EVERY_MS, approveAll)
  }

  /** No new faults, and those under way have ended. */
  #calmDown(operator: Operator): void {
    const { trace, chances, machines, queue } = this.#cluster
    trace.add('sim', 'quiet from here on')
    Object.assign(chances, { failure: 0, meanLifeMs: Infinity, isHonest: true })
    for (const machine of machines) {
      machine.brokenModels.clear()
      this.#cluster.bootMachine(machine)
    }
    queue.after(30_000, () => {
      for (const machine of machines) {
        this.#cluster.bootMachine(machine)
        operator.approve(machine)
        operator.resume(machine)
      }
    })
    queue.after(ACCEPTED_AFTER_MS, () => operator.acceptLoss())
  }
}
