import type { ReplicaState } from '../src/core/types.ts'

const STATES: ReadonlySet<ReplicaState> = new Set(['reserved', 'installing', 'staging', 'loading'])

/** Placed, and not ready yet. */
export function isOnTheWay(state: ReplicaState): boolean {
  return STATES.has(state)
}
