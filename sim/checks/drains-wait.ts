import { isEnding } from '../../src/core/lifecycle/states.ts'
import type { ReplicaState } from '../../src/core/types.ts'
import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'

/** As long as workers of the simulator let requests finish. */
const DRAIN_MS = 30_000

/** A replica that is to go lets its requests finish: its engine is told to end when none is left, or when their time is over. */
export function drainsWait({ queue }: Cluster): Check {
  const endingMs = new Map<string, number>()
  return {
    name: 'draining (running requests finish)',
    onCommit({ moved }) {
      for (const { before, after } of moved) {
        if (!after) endingMs.delete(before.id)
        else if (isEnding(after.state as ReplicaState) && !endingMs.has(after.id)) endingMs.set(after.id, queue.nowMs)
      }
      return undefined
    },
    onToldToEnd({ name }, { spec, calls }) {
      const sinceMs = endingMs.get(spec.id)
      // Of one that no row asked to go, another check tells.
      if (sinceMs === undefined || calls.size === 0) return undefined
      const forMs = queue.nowMs - sinceMs
      if (forMs >= DRAIN_MS) return undefined
      const what = `${spec.id} (${spec.model_name}#${spec.replica_index}) on ${name}`
      return `${what} is told to end ${forMs} ms after it was to go, with ${calls.size} requests still running`
    },
  }
}
