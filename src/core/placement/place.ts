import { adviseOn } from './advice.ts'
import type { Fleet } from './fleet.ts'
import { compareSeats, isRefusal, Judge, type Seat } from './judge.ts'
import { makeRoom, wouldFitLater, type MadeRoom } from './make-room.ts'
import type { Room } from './room.ts'
import type { Need } from '../memory/types.ts'
import type { PlacePolicy, Placement, Refusal } from './types.ts'

export interface PlaceOptions {
  policy: PlacePolicy
  /**
   * Replicas that may be stopped to make room, with the regret of it; Infinity is one that may be, but not yet. Read only
   * when there is no room, so that it may be worked out then.
   */
  evictable?: ReadonlyMap<string, number>
  /** No other node is looked at. */
  only?: string
  /** The caller wants only the place: when there is one, not every other node says why it refuses. */
  isBrief?: boolean
}

/**
 * Where the next replica goes: to the best node that can take it as it is; else to one where it fits when those that end
 * have gone; else to one where it fits when as few others as possible are stopped. The same world gives the same answer.
 */
export function place(need: Need, fleet: Fleet, options: PlaceOptions): Placement {
  const { policy, only, isBrief = false } = options
  const mayPass = isBrief && policy === 'spread'
  const judge = new Judge(need, fleet, policy)
  const refusals: Refusal[] = []
  let best: Seat | undefined
  for (const room of roomsOf(fleet, only)) {
    if (mayPass && best && !judge.mayBeat(room, best)) continue
    const verdict = judge.judge(room)
    if (isRefusal(verdict)) refusals.push(verdict)
    else if (!best || compareSeats(verdict, best, policy) < 0) best = verdict
  }
  if (best) return placed(judge, { seat: best, victims: [], waitsFor: [] }, refusals, true)

  const refused = { judge, fleet, refusals, evictable: options.evictable ?? new Map<string, number>() }
  const made = makeRoom(refused, policy)
  if (made) return placed(judge, made, refusals, false)
  return { ok: false, refusals, advice: adviseOn(judge, fleet, refusals), isBusy: wouldFitLater(refused) }
}

function roomsOf(fleet: Fleet, only: string | undefined): readonly Room[] {
  if (only === undefined) return fleet.rooms
  const room = fleet.roomOf(only)
  return room ? [room] : []
}

function placed(
  judge: Judge,
  { seat, victims, waitsFor }: MadeRoom,
  refusals: readonly Refusal[],
  isNow: boolean,
): Placement {
  const { id: nodeId, name: nodeName } = seat.room.node
  const { replicaIndex } = seat
  return { ok: true, nodeId, nodeName, replicaIndex, claim: judge.claimOf(seat), isNow, victims, waitsFor, refusals }
}
