import type { StoredReplica } from '../../src/store/replicas.ts'
import type { StoredWorld } from '../../src/store/world.ts'
import type { Check } from './check.ts'

/** A model keeps its memory this long, unless nobody has used it for a while and nobody waits for it. */
const RESIDENCY_MS = 30_000
const IDLE_MS = 10_000

/** Two models that share a device take turns, but do not spend their time loading. */
export function thrashCheck(): Check {
  return {
    name: 'thrash (a model keeps its memory for a while)',
    look({ ground }) {
      for (const { before, steps } of ground.happened.applied) {
        for (const step of steps) {
          if (step.kind !== 'evict') continue
          const row = before.replicas.find(({ id }) => id === step.replica.id)
          const why = row && whyTooEarly(before, row)
          if (why) return `${row.id} of ${row.modelName} was evicted for ${step.forModel} ${why}`
        }
      }
      return undefined
    },
  }
}

function whyTooEarly({ nowMs, demands }: StoredWorld, { modelName, readySinceMs, lastUsedMs }: StoredReplica) {
  const residentMs = nowMs - (readySinceMs ?? nowMs)
  if (residentMs >= RESIDENCY_MS) return undefined
  const idleMs = nowMs - Math.max(readySinceMs ?? nowMs, lastUsedMs ?? 0)
  const isWanted = demands.some((one) => one.modelName === modelName && one.wantedUntilMs > nowMs)
  if (isWanted) return `after ${residentMs} ms, though somebody waits for it`
  return idleMs >= IDLE_MS ? undefined : `after ${residentMs} ms, and ${idleMs} ms after its last request`
}
