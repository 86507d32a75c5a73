import { endingState } from '../lifecycle/states.ts'
import type { Replica } from '../types.ts'

/** It holds its room until it is gone, but a placement may count on that room. */
export function asEnding(replica: Replica): Replica {
  return { ...replica, state: endingState(replica.state) }
}
