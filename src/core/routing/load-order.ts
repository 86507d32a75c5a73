import type { Route } from './table.ts'

/** A route among those of its model, and how busy it is. */
export interface Candidate<R extends Route = Route> {
  route: R
  /** Requests in flight that this gateway sent. */
  here: number
  /** Requests in flight that the other gateways last said they sent. */
  elsewhere: number
  /** The number of its last use among all uses; 0 when it was never used. Unlike a time it tells uses of one ms apart. */
  lastUse: number
  lastUsedMs: number | undefined
  /** Where it stands on the ring. */
  position: number
  /** By what its order knows it; the order keeps this. */
  slot: number
}

export function inFlightOf({ here, elsewhere }: Candidate): number {
  return here + elsewhere
}

/** What "best" means, here and nowhere else: fewest in flight, least recently used, most available VRAM, lowest id. */
export function compareLoad(a: Candidate, b: Candidate): number {
  return (
    a.here + a.elsewhere - (b.here + b.elsewhere) ||
    a.lastUse - b.lastUse ||
    (b.route.availableVram ?? 0) - (a.route.availableVram ?? 0) ||
    (a.route.replicaId < b.route.replicaId ? -1 : 1)
  )
}

/** Uses are numbered below this. Together with what is in flight they are one number, which is compared at once. */
export const MOST_USES = 2 ** 33
const MOST_COMPARED = 2 ** 20 - 1

/** Children of each place: with four, a way down is half as long as with two, and what is compared lies side by side. */
const ARITY = 4
const FEWEST_PLACES = 16

/**
 * The routes of one model with the best always at hand: a heap of numbers in which each candidate finds its place. A
 * change costs O(log n) and the best is read off the top, so that ten thousand replicas are nearly as quick to choose from
 * as ten. Candidates themselves are looked at only where the numbers are the same: of those that were never used.
 */
export class LoadOrder<R extends Route> {
  /** By slot; a slot is a candidate's for as long as it is here. */
  readonly #candidates: (Candidate<R> | undefined)[] = []
  readonly #freeSlots: number[] = []
  #size = 0
  /** By place: its load and its slot. By slot: its place. */
  #loads = new Float64Array(FEWEST_PLACES)
  #slots = new Int32Array(FEWEST_PLACES)
  #places = new Int32Array(FEWEST_PLACES)

  add(candidate: Candidate<R>): void {
    const slot = this.#freeSlots.pop() ?? this.#candidates.length
    candidate.slot = slot
    this.#candidates[slot] = candidate
    if (this.#size === this.#slots.length) this.#grow()
    this.#loads[this.#size] = loadOf(candidate)
    this.#size += 1
    this.#rise(this.#size - 1, slot)
  }

  remove({ slot }: Candidate<R>): void {
    const place = this.#places[slot]!
    this.#candidates[slot] = undefined
    this.#freeSlots.push(slot)
    this.#size -= 1
    if (place === this.#size) return
    this.#loads[place] = this.#loads[this.#size]!
    this.#settle(place, this.#slots[this.#size]!)
  }

  /** To be called after anything that the order looks at has changed. */
  moved(candidate: Candidate<R>): void {
    const { slot } = candidate
    const place = this.#places[slot]!
    this.#loads[place] = loadOf(candidate)
    this.#settle(place, slot)
  }

  /** The best that is not out. Looks at no more than four candidates for each one that is out, and one more. */
  first(isOut: (route: R) => boolean): Candidate<R> | undefined {
    if (this.#size === 0) return undefined
    const best = this.#at(0)
    return isOut(best.route) ? this.#firstUnder(0, undefined, isOut) : best
  }

  /** The best ones in order. Costs the square of `most`, whatever the number of candidates: for lists that people read. */
  ranked(most: number): Candidate<R>[] {
    const ranked: Candidate<R>[] = []
    const frontier = this.#size > 0 ? [this.#at(0)] : []
    while (ranked.length < most && frontier.length > 0) {
      const best = frontier.reduce((a, b) => (compareLoad(a, b) < 0 ? a : b))
      const first = ARITY * this.#places[best.slot]! + 1
      const children: Candidate<R>[] = []
      for (let place = first; place < first + ARITY && place < this.#size; place += 1) children.push(this.#at(place))
      frontier.splice(frontier.indexOf(best), 1, ...children)
      ranked.push(best)
    }
    return ranked
  }

  /** Only below one that is out can there be a better one than it. */
  #firstUnder(out: number, best: Candidate<R> | undefined, isOut: (route: R) => boolean): Candidate<R> | undefined {
    let found = best
    const first = ARITY * out + 1
    for (let place = first; place < first + ARITY && place < this.#size; place += 1) {
      const candidate = this.#at(place)
      if (found && compareLoad(found, candidate) < 0) continue
      found = isOut(candidate.route) ? this.#firstUnder(place, found, isOut) : candidate
    }
    return found
  }

  /**
   * Finds the place of the entry whose load stands at `from` (passed as an index, because the number itself would be boxed).
   * An entry that has risen is better than all below it.
   */
  #settle(from: number, slot: number): void {
    if (this.#rise(from, slot) === from) this.#sink(from, slot)
  }

  #rise(from: number, slot: number): number {
    const loads = this.#loads
    const slots = this.#slots
    const places = this.#places
    const load = loads[from]!
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> ARITY_BITS
      const above = loads[parent]!
      if (load > above || (load === above && !this.#isBetter(slot, slots[parent]!))) break
      const other = slots[parent]!
      loads[place] = above
      slots[place] = other
      places[other] = place
      place = parent
    }
    loads[place] = load
    slots[place] = slot
    places[slot] = place
    return place
  }

  #sink(from: number, slot: number): void {
    const loads = this.#loads
    const slots = this.#slots
    const places = this.#places
    const size = this.#size
    const load = loads[from]!
    let place = from
    for (let first = ARITY * place + 1; first < size; first = ARITY * place + 1) {
      const end = first + ARITY < size ? first + ARITY : size
      let best = first
      let least = loads[first]!
      for (let child = first + 1; child < end; child += 1) {
        const below = loads[child]!
        if (below > least || (below === least && !this.#isBetter(slots[child]!, slots[best]!))) continue
        best = child
        least = below
      }
      if (load < least || (load === least && this.#isBetter(slot, slots[best]!))) break
      const other = slots[best]!
      loads[place] = least
      slots[place] = other
      places[other] = place
      place = best
    }
    loads[place] = load
    slots[place] = slot
    places[slot] = place
  }

  #isBetter(slot: number, other: number): boolean {
    return compareLoad(this.#candidates[slot]!, this.#candidates[other]!) < 0
  }

  #at(place: number): Candidate<R> {
    return this.#candidates[this.#slots[place]!]!
  }

  #grow(): void {
    const places = 2 * this.#size
    const [loads, slots, placesBefore] = [this.#loads, this.#slots, this.#places]
    this.#loads = new Float64Array(places)
    this.#loads.set(loads)
    this.#slots = new Int32Array(places)
    this.#slots.set(slots)
    this.#places = new Int32Array(places)
    this.#places.set(placesBefore)
  }
}

const ARITY_BITS = Math.log2(ARITY)

/** As `compareLoad` has it, as far as one number can say it. */
function loadOf({ here, elsewhere, lastUse }: Candidate): number {
  const inFlight = here + elsewhere
  return (inFlight < MOST_COMPARED ? inFlight : MOST_COMPARED) * MOST_USES + lastUse
}
