import { compareLoad, type Candidate } from '../../src/core/routing/load-order.ts'
import { MODEL_NAME } from './messages.ts'
import { tableOf } from './table.ts'

const SIZES = [10, 1000, 10_000]
const IN_FLIGHT = 1000
const TURN_MS = 4
/** The quickest of so many counts: whatever else the machine does can only make one slower. */
const TRIES = 100

export interface Picks {
  replicas: number
  structureNs: number
  scanNs: number
}

/** What it costs to choose a replica and to give it back, by the table's structure and by looking at all of them. */
export function measurePicks(): Picks[] {
  return SIZES.map((replicas) => ({
    replicas,
    structureNs: nanosecondsOf(byStructure(replicas)),
    scanNs: nanosecondsOf(byScan(replicas)),
  }))
}

/** Chooses the best and counts a request to it; what it returns gives that back. */
type Begin = () => () => void

function byStructure(replicas: number): Begin {
  const table = tableOf(addresses(replicas))
  return () => table.begin(table.pick(MODEL_NAME, {}, nobody)!, 0)
}

const nobody = (): boolean => false

/** The same order, found by comparing all. */
function byScan(replicas: number): Begin {
  const candidates = tableOf(addresses(replicas))
    .routesOf(MODEL_NAME)
    .map((route): Candidate => {
      return { route, here: 0, elsewhere: 0, lastUse: 0, lastUsedMs: undefined, position: 0, slot: 0 }
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
function nanosecondsOf(begin: Begin): number {
  const ends = Array.from({ length: IN_FLIGHT }, begin)
  const turn = (): number => {
    const startMs = performance.now()
    let picks = 0
    let elapsedMs = 0
    // The time is not looked at for every pick, as that takes as long as one.
    for (; elapsedMs < TURN_MS; elapsedMs = performance.now() - startMs) {
      for (let i = 0; i < AT_ONCE; i += 1) {
        const at = (picks + i) % IN_FLIGHT
        ends[at]!()
        ends[at] = begin()
      }
      picks += AT_ONCE
    }
    return (elapsedMs * 1e6) / picks
  }
  turn()
  return Math.min(...Array.from({ length: TRIES }, turn))
}

const AT_ONCE = 10

function addresses(replicas: number): string[] {
  return Array.from({ length: replicas }, (_, i) => `10.0.${i >> 8}.${i & 255}:9090`)
}
