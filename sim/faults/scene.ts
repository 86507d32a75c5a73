import type { Cluster } from '../cluster.ts'
import type { Random } from '../random.ts'
import { Operator } from './operator.ts'

/** What one fault has to work with: the cluster, chance of its own, and a way to end again. */
export class Scene {
  readonly cluster: Cluster
  readonly random: Random
  readonly operator: Operator
  readonly modelNames: readonly string[]
  readonly #heals: Set<() => void>

  constructor(cluster: Cluster, random: Random, modelNames: readonly string[], heals: Set<() => void>) {
    this.cluster = cluster
    this.random = random
    this.modelNames = modelNames
    this.operator = new Operator(cluster, random)
    this.#heals = heals
  }

  /** Ends it after so long, or when all faults are to end. */
  endAfter(forMs: number, heal: () => void): void {
    const once = (): void => {
      if (this.#heals.delete(once)) heal()
    }
    this.#heals.add(once)
    this.cluster.queue.after(forMs, once)
  }
}

/** One thing that goes wrong, or that somebody wants differently. Says what it is; undefined when there was nothing to do. */
export type Fault = (scene: Scene) => string | undefined
