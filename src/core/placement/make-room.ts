import { isEnding } from '../lifecycle/states.ts'
import type { Replica } from '../types.ts'
import { bySlot, type Fleet } from './fleet.ts'
import { compareSeats, isRefusal, type Judge, type Seat } from './judge.ts'
import type { Held, Room } from './room.ts'
import type { PlacePolicy, Refusal, RefusalFilter } from './types.ts'
import { fewestOf, type Tries } from './victims.ts'

/** What was tried without success. */
export interface Refused {
  judge: Judge
  fleet: Fleet
  refusals: readonly Refusal[]
  /** With the regret; Infinity is one that may be stopped, but not yet. */
  evictable: ReadonlyMap<string, number>
}

export interface MadeRoom {
  seat: Seat
  victims: readonly Replica[]
  waitsFor: readonly Replica[]
}

/** Rooms that are worked out in search of the fewest victims, of all nodes together: some 2 µs each. */
const MOST_TRIES = 10_000

/**
 * The node where it fits once others have gone. Replicas that end already cost nothing, nor does the memory of ended ones
 * that the next reading will show as free. Of the rest as few as possible are stopped, then those of least regret, all of
 * them on one node.
 */
export function makeRoom(refused: Refused, policy: PlacePolicy): MadeRoom | undefined {
  const tries: Tries = { left: MOST_TRIES }
  let best: Option | undefined
  for (const lack of roomsThatLackRoom(refused)) {
    // Enough was tried: what was found does.
    if (tries.left <= 0 && best) break
    const option = optionOn(lack, refused, best, tries)
    if (option && (!best || compareOptions(option, best, policy) < 0)) best = option
  }
  if (!best) return undefined
  const { seat, victims, ending } = best
  return { seat, victims: replicasOf(victims), waitsFor: replicasOf(neededOf(seat.room.now, ending, victims, refused)) }
}

/** Whether it would fit without the replicas that may be stopped later, too: busy ones and new ones. */
export function wouldFitLater(refused: Refused): boolean {
  const { judge, evictable } = refused
  for (const { room } of roomsThatLackRoom(refused)) {
    if (!room.held.some(({ replica }) => evictable.get(replica.id) === Infinity)) continue
    const gone = room.held.filter((one) => isEnding(one.replica.state) || mayGo(one, refused))
    if (judge.seatIn(room.without(gone))) return true
  }
  return false
}

interface Option {
  seat: Seat
  victims: readonly Held[]
  regret: number
  /** All that end on that node. */
  ending: readonly Held[]
}

interface Lack {
  room: Room
  filter: RefusalFilter
}

function* roomsThatLackRoom({ fleet, refusals }: Refused): Generator<Lack> {
  for (const { nodeId, filter } of refusals) {
    if (filter !== 'memory' && filter !== 'slot' && filter !== 'disk' && filter !== 'anti_affinity') continue
    const room = fleet.roomOf(nodeId)
    if (room && (room.held.length > 0 || room.hasFreed)) yield { room, filter }
  }
}

function optionOn(
  { room, filter }: Lack,
  refused: Refused,
  best: Option | undefined,
  tries: Tries,
): Option | undefined {
  const { judge, evictable } = refused
  const ending = room.held.filter(({ replica }) => isEnding(replica.state))
  const isComing = ending.length > 0 || room.hasFreed
  const base = isComing ? room.without(ending) : room
  let lacks = filter
  if (isComing) {
    tries.left -= 1
    const verdict = judge.judge(base)
    if (!isRefusal(verdict)) return { seat: verdict, victims: [], regret: 0, ending }
    lacks = verdict.filter
  }
  // Victims make memory and slots free, and nothing else.
  if (best?.victims.length === 0 || (lacks !== 'memory' && lacks !== 'slot')) return undefined
  const regretOf = ({ replica }: Held): number => evictable.get(replica.id)!
  const candidates = base.held
    .filter((one) => mayGo(one, refused) && regretOf(one) < Infinity)
    .toSorted((a, b) => regretOf(a) - regretOf(b) || bySlot(a.replica, b.replica))
  if (candidates.length === 0) return undefined
  if (best?.victims.length === 1 && regretOf(candidates[0]!) > best.regret) return undefined
  const seatWithout = (gone: readonly Held[]): Seat | undefined => {
    tries.left -= 1
    return judge.seatIn(base.without(gone))
  }
  const most = best?.victims.length ?? candidates.length
  const victims = fewestOf(candidates, regretOf, (gone) => seatWithout(gone) !== undefined, most, tries)
  if (!victims) return undefined
  return { seat: seatWithout(victims)!, victims, regret: sum(victims.map(regretOf)), ending }
}

/** To stop a replica for another of the same model and revision would be pointless. */
function mayGo({ replica }: Held, { judge, evictable }: Refused): boolean {
  if (!evictable.has(replica.id) || isEnding(replica.state) || replica.state === 'failed') return false
  const { name, revision } = judge.need.model
  return replica.modelName !== name || replica.revision !== revision
}

function compareOptions(a: Option, b: Option, policy: PlacePolicy): number {
  return a.victims.length - b.victims.length || a.regret - b.regret || compareSeats(a.seat, b.seat, policy)
}

/** Of those that end, the ones that must really be gone first. */
function neededOf(room: Room, ending: readonly Held[], victims: readonly Held[], { judge }: Refused): Held[] {
  let needed = ending.toSorted((a, b) => bySlot(a.replica, b.replica))
  for (const one of needed) {
    const others = needed.filter((other) => other !== one)
    if (judge.seatIn(room.without([...victims, ...others]))) needed = others
  }
  return needed
}

function replicasOf(held: readonly Held[]): Replica[] {
  return held.map(({ replica }) => replica).toSorted(bySlot)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
