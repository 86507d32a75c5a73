import type { Placement } from '../placement/types.ts'

type Refused = Extract<Placement, { ok: false }>

/** For a leader, of nodes, in one pass: 0.6 s, while its lease lasts ten. */
export const MOST_REFUSALS = 200_000

/** A model that has something missing. */
export interface Seeker {
  modelName: string
  /** A client waits for it. */
  isWanted: boolean
}

/**
 * The searches for room of one pass after another. A search that finds nothing has asked every node, and may have tried
 * what to stop on each: some 3 µs a node, 30 ms where there are ten thousand. So a pass limits the refusals it collects; a
 * model that is passed over is not judged, and comes before the others the next time.
 */
export class Searches {
  readonly #most: number
  #left = 0
  /** Of those that were refused or passed over, in which pass each was last tried; 0 for never. */
  #triedIn = new Map<string, number>()
  #pass = 0
  #skipped = new Set<string>()
  #known = new Map<string, { refused: Refused; version: number }>()

  constructor(mostRefusals: number) {
    this.#most = mostRefusals
  }

  /** A pass begins with these. Models that were refused before take turns; half of the turns are for models with waiting clients. */
  begin(seekers: readonly Seeker[], nodeCount: number): void {
    this.#pass += 1
    this.#left = this.#most
    this.#known.clear()
    const before = this.#triedIn
    this.#triedIn = new Map()
    for (const { modelName } of seekers) {
      const pass = before.get(modelName)
      if (pass !== undefined) this.#triedIn.set(modelName, pass)
    }
    const most = Math.max(1, Math.floor(this.#most / Math.max(1, nodeCount)))
    const again = seekers.filter(({ modelName }) => this.#triedIn.has(modelName))
    this.#skipped = new Set()
    if (again.length <= most) return
    const byTurn = again.toSorted((a, b) => this.#triedIn.get(a.modelName)! - this.#triedIn.get(b.modelName)!)
    const wanted = byTurn.filter(({ isWanted }) => isWanted).slice(0, Math.ceil(most / 2))
    const inTurn = [...new Set([...wanted, ...byTurn])]
    for (const { modelName } of inTurn.slice(most)) this.#skipped.add(modelName)
  }

  /** False when it is not its turn, or enough have been refused: it is not known then whether there is room. */
  mayTry(modelName: string): boolean {
    if (this.#left > 0 && !this.#skipped.has(modelName)) {
      if (this.#triedIn.has(modelName)) this.#triedIn.set(modelName, this.#pass)
      return true
    }
    if (!this.#triedIn.has(modelName)) this.#triedIn.set(modelName, 0)
    return false
  }

  /** What was found for a need of the same shape, if the fleet is still the same. */
  knownFor(shape: string | undefined, version: number): Refused | undefined {
    const known = shape === undefined ? undefined : this.#known.get(shape)
    return known?.version === version ? known.refused : undefined
  }

  refuse(modelName: string, refused: Refused, shape: string | undefined, version: number): void {
    this.#triedIn.set(modelName, this.#pass)
    if (this.knownFor(shape, version) === refused) return
    this.#left -= Math.max(1, refused.refusals.length)
    if (shape !== undefined) this.#known.set(shape, { refused, version })
  }
}
