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
  /** Where it stands in the heap of its order; the order keeps this. */
  heapIndex: number
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

/**
 * The routes of one model with the best always at hand: a binary heap in which each candidate knows its place. A change
 * costs O(log n) and the best is read off the top, so that ten thousand replicas are as quick to choose from as ten.
 */
export class LoadOrder<R extends Route> {
  readonly #heap: Candidate<R>[] = []

  add(candidate: Candidate<R>): void {
    this.#heap.push(candidate)
    this.#rise(candidate, this.#heap.length - 1)
  }

  remove(candidate: Candidate<R>): void {
    const last = this.#heap.pop()!
    if (last === candidate) return
    last.heapIndex = candidate.heapIndex
    this.moved(last)
  }

  /** To be called after anything that the order looks at has changed. */
  moved(candidate: Candidate<R>): void {
    const index = candidate.heapIndex
    this.#rise(candidate, index)
    // One that has risen is better than all below it.
    if (candidate.heapIndex === index) this.#sink(candidate, index)
  }

  /** The best that is not out. Looks at no more than two candidates for each one that is out, and one more. */
  first(isOut: (route: R) => boolean): Candidate<R> | undefined {
    return this.#firstUnder(0, undefined, isOut)
  }

  /** The best ones in order. Costs the square of `most`, whatever the number of candidates: for lists that people read. */
  ranked(most: number): Candidate<R>[] {
    const ranked: Candidate<R>[] = []
    const frontier = this.#heap.slice(0, 1)
    while (ranked.length < most && frontier.length > 0) {
      const best = frontier.reduce((a, b) => (compareLoad(a, b) < 0 ? a : b))
      const left = 2 * best.heapIndex + 1
      frontier.splice(frontier.indexOf(best), 1, ...this.#heap.slice(left, left + 2))
      ranked.push(best)
    }
    return ranked
  }

  /** Only below one that is out can there be a better one than it. */
  #firstUnder(index: number, best: Candidate<R> | undefined, isOut: (route: R) => boolean): Candidate<R> | undefined {
    const candidate = this.#heap[index]
    if (!candidate || (best && compareLoad(best, candidate) < 0)) return best
    if (!isOut(candidate.route)) return candidate
    return this.#firstUnder(2 * index + 2, this.#firstUnder(2 * index + 1, best, isOut), isOut)
  }

  #rise(candidate: Candidate<R>, from: number): void {
    let index = from
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = this.#heap[parentIndex]!
      if (compareLoad(parent, candidate) < 0) break
      this.#put(parent, index)
      index = parentIndex
    }
    this.#put(candidate, index)
  }

  #sink(candidate: Candidate<R>, from: number): void {
    let index = from
    for (;;) {
      let childIndex = 2 * index + 1
      const right = this.#heap[childIndex + 1]
      if (right && compareLoad(right, this.#heap[childIndex]!) < 0) childIndex += 1
      const child = this.#heap[childIndex]
      if (!child || compareLoad(candidate, child) < 0) break
      this.#put(child, index)
      index = childIndex
    }
    this.#put(candidate, index)
  }

  #put(candidate: Candidate<R>, index: number): void {
    this.#heap[index] = candidate
    candidate.heapIndex = index
  }
}
