import { explainModel } from '../../../core/placement/explain.ts'
import type { PlacePolicy } from '../../../core/placement/types.ts'
import type { Clock } from '../../../platform/run/clock.ts'
import type { World } from '../../../core/types.ts'

/** Advice as old as this is found out anew, the oldest first. */
const FRESH_MS = 10_000
/** The time that one read spends on advice; the last search may exceed it. */
const MOST_MS = 5
const MOST_REMEMBERED = 200

/**
 * What would help models that found no room. Each search visits every node, so results are remembered and only some are
 * renewed at each read. Until its turn comes a problem has its previous advice, or none.
 */
export class RememberedAdvice {
  readonly #policy: PlacePolicy
  readonly #clock: Clock
  readonly #known = new Map<string, { text: string | null; atMs: number }>()
  /** Asked for since this look began. */
  readonly #asked = new Set<string>()
  #beganMs = 0

  constructor(policy: PlacePolicy, clock: Clock) {
    this.#policy = policy
    this.#clock = clock
  }

  /** Before a look. What was asked for by none of the look before is forgotten, and the oldest is found out anew. */
  begin(world: World): void {
    this.#beganMs = this.#clock.nowMs()
    for (const name of this.#known.keys()) if (!this.#asked.has(name)) this.#known.delete(name)
    this.#asked.clear()
    const stale = [...this.#known].filter(([, { atMs }]) => this.#beganMs - atMs >= FRESH_MS)
    for (const [name] of stale.toSorted(([, a], [, b]) => a.atMs - b.atMs)) {
      if (!this.#hasTime()) return
      this.#findOut(world, name)
    }
  }

  advise(world: World, modelName: string): string | null {
    this.#asked.add(modelName)
    const isNew = !this.#known.has(modelName)
    if (isNew && this.#known.size < MOST_REMEMBERED && this.#hasTime()) this.#findOut(world, modelName)
    return this.#known.get(modelName)?.text ?? null
  }

  #hasTime(): boolean {
    return this.#clock.nowMs() - this.#beganMs < MOST_MS
  }

  #findOut(world: World, modelName: string): void {
    const text = explainModel(world, modelName, this.#policy)?.advice[0] ?? null
    this.#known.set(modelName, { text, atMs: this.#clock.nowMs() })
  }
}
