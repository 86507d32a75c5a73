import { endingState } from '../lifecycle/states.ts'
import type { Replica } from '../types.ts'

/** Its room is held until it is gone, but whoever needs room may count on it. */
export function asEnding(replica: Replica): Replica {
  return { ...replica, state: endingState(replica.state) }
}
