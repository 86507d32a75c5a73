import { hash32 } from './hash.ts'
import type { Candidate } from './load-order.ts'
import type { Route } from './table.ts'

/**
 * A key is hashed to this many places, and the replica nearest after any of them has it. One place a replica and 21 a key
 * spread keys within about 10 % of even, as hundreds of places a replica would, and a change of the set stays cheap.
 */
const PROBES = 21
/** How far is walked for a replica with room: at most 4 of 5 can be over the bound, so 128 in a row are next to never. */
const MOST_STEPS = 128

/** The routes of one model in a circle, each at the hash of its id: those that stay keep their place when others come and go. */
export class Ring<R extends Route> {
  readonly #points: Candidate<R>[] = []

  add(candidate: Candidate<R>): void {
    this.#points.splice(this.#indexAfter(candidate.position, candidate.route.replicaId), 0, candidate)
  }

  remove(candidate: Candidate<R>): void {
    this.#points.splice(this.#indexAfter(candidate.position, candidate.route.replicaId) - 1, 1)
  }

  /** All, once each, beginning behind the given one, which need not be there any more. */
  *after(candidate: Candidate<R> | undefined): Generator<Candidate<R>> {
    const start = candidate ? this.#indexAfter(candidate.position, candidate.route.replicaId) : 0
    yield* this.#walk(start, this.#points.length)
  }

  /** The replica that a key belongs to, then those that it goes to when it has no room: nearest first, then along the ring. */
  *preferences(key: string): Generator<Candidate<R>> {
    const count = this.#points.length
    if (count === 0) return
    const probes = this.#probe(key)
    for (const { index } of probes) yield this.#points[index]!
    yield* this.#walk(probes[0]!.index + 1, Math.min(count, MOST_STEPS))
  }

  #probe(key: string): { index: number; distance: number }[] {
    const [start, stride] = [hash32(key, 1), hash32(key, 2)]
    const probes = Array.from({ length: PROBES }, (_, i) => {
      const position = (start + Math.imul(i, stride)) >>> 0
      const index = this.#indexAfter(position, '') % this.#points.length
      return { index, distance: (this.#points[index]!.position - position) >>> 0 }
    })
    return probes.toSorted((a, b) => a.distance - b.distance)
  }

  *#walk(start: number, steps: number): Generator<Candidate<R>> {
    for (let step = 0; step < steps; step += 1) yield this.#points[(start + step) % this.#points.length]!
  }

  /** The index of the first point behind a place. Two replicas at one position stand in the order of their ids. */
  #indexAfter(position: number, replicaId: string): number {
    let [low, high] = [0, this.#points.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const point = this.#points[middle]!
      const isBehind = point.position === position ? point.route.replicaId > replicaId : point.position > position
      if (isBehind) high = middle
      else low = middle + 1
    }
    return low
  }
}
