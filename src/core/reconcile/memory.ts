import type { World } from '../types.ts'
import { isHot } from './scale.ts'
import { Searches } from './searches.ts'
import { WorldIndex } from './world-index.ts'

/**
 * What one pass leaves to the next: the world by its names, and which models it need not look at again before a row about
 * them changes or their time has come. A plan made with it is the plan that would be made without it; it only costs less.
 * Only the limit on searches, where there is one, makes a difference: a model that was passed over comes first the next time.
 */
export class Memory {
  readonly index = new WorldIndex()
  readonly searches: Searches
  /** When a model has to be looked at again although nothing changed; of those that are done for good there is none. */
  readonly #dueMs = new Map<string, number>()
  #givenUp: ReadonlySet<string> = new Set()
  #hot: ReadonlySet<string> = new Set()

  /** How many refusals of nodes a pass may collect; no limit by default, so that a caller gets them all. */
  constructor({ mostRefusals = Infinity }: { mostRefusals?: number } = {}) {
    this.searches = new Searches(mostRefusals)
  }

  /** Takes in the next world and the nodes that are given up in it. Returns the models that have to be looked at. */
  take(world: World, givenUp: ReadonlySet<string>): Set<string> {
    const names = this.index.take(world)
    for (const id of [...givenUp, ...this.#givenUp]) {
      if (givenUp.has(id) && this.#givenUp.has(id)) continue
      for (const { modelName } of this.index.replicasOn(id)) names.add(modelName)
    }
    this.#givenUp = givenUp
    for (const [name, dueMs] of this.#dueMs) if (dueMs <= world.nowMs) names.add(name)
    const hot = new Set((world.loads ?? []).filter(isHot).map(({ modelName }) => modelName))
    for (const name of [...hot, ...this.#hot]) names.add(name)
    this.#hot = hot
    return names
  }

  /** When a model that was looked at has to be looked at again; Infinity for when something about it changes. */
  settle(modelName: string, dueMs: number): void {
    if (dueMs === Infinity) this.#dueMs.delete(modelName)
    else this.#dueMs.set(modelName, dueMs)
  }
}
