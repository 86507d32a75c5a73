import { compareLoad, type Candidate } from '../../src/core/routing/load-order.ts'
import { MODEL_NAME } from './messages.ts'
import { tableOf } from './table.ts'

const REPLICAS = 10_000
const IN_FLIGHT = 1000
const EACH_MS = 500

/** What choosing among 10,000 replicas costs, by the table's structure and by looking at all of them, in microseconds. */
export function measurePicks(): { structureUs: number; scanUs: number } {
  return { structureUs: microsecondsOf(byStructure()), scanUs: microsecondsOf(byScan()) }
}

/** Chooses the best and counts a request to it; what it returns gives that back. */
type Begin = () => () => void

function byStructure(): Begin {
  const table = tableOf(addresses())
  return () =>
    table.begin(
      table.pick(MODEL_NAME, {}, () => false)!,
      performance.now(),
    )
}

/** The same order, found by comparing all. */
function byScan(): Begin {
  const candidates = tableOf(addresses())
    .routesOf(MODEL_NAME)
    .map((route): Candidate => {
      return { route, here: 0, elsewhere: 0, lastUse: 0, lastUsedMs: undefined, position: 0, heapIndex: 0 }
    })
  let uses = 0
  return () => {
    const best = candidates.reduce((a, b) => (compareLoad(a, b) < 0 ? a : b))
    best.here += 1
    best.lastUse = uses += 1
    return () => void (best.here -= 1)
  }
}

/** Each request ends when a thousand more have begun. */
function microsecondsOf(begin: Begin): number {
  const ends = Array.from({ length: IN_FLIGHT }, begin)
  let picks = 0
  const startMs = performance.now()
  let elapsedMs = 0
  for (; elapsedMs < EACH_MS; elapsedMs = performance.now() - startMs) {
    ends[picks % IN_FLIGHT]!()
    ends[picks % IN_FLIGHT] = begin()
    picks += 1
  }
  return (elapsedMs * 1000) / picks
}

function addresses(): string[] {
  return Array.from({ length: REPLICAS }, (_, i) => `10.0.${i >> 8}.${i & 255}:9090`)
}
