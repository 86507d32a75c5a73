import type { Replica, World } from '../../src/core/types.ts'
import type { AppliedPlan } from './applied-plan.ts'
import type { Check } from './check.ts'

/** A model keeps its memory this long, unless nobody has used it for a while and nobody waits for it. */
const RESIDENCY_MS = 30_000
const IDLE_MS = 10_000

/** Only idle replicas make room, for another model, not below a rule's minimum, and not as soon as they are there. */
export function evictionsAreFair(): Check {
  return {
    name: 'eviction (idle, above the minimum, not too early)',
    onPlan({ before, plan }: AppliedPlan) {
      const ended = new Set(plan.steps.flatMap((step) => (step.kind === 'reserve' ? [] : [step.replica.id])))
      for (const step of plan.steps) {
        if (step.kind !== 'evict') continue
        const row = before.replicas.find(({ id }) => id === step.replica.id)
        const name = `${step.replica.id} of ${step.replica.modelName} was evicted for ${step.forModel}`
        if (row?.state !== 'ready') return `${name}, and was ${row?.state ?? 'not there'}`
        if (row.inFlight > 0) return `${name} while it served ${row.inFlight} requests`
        if (step.forModel === row.modelName) return `${name}, which is the same model`
        const why = belowMinimum(before, row, ended) ?? tooEarly(before, row)
        if (why) return `${name} ${why}`
      }
      return undefined
    },
  }
}

function belowMinimum(world: World, { modelName, id }: Replica, ended: ReadonlySet<string>): string | undefined {
  const rule = world.rules.find((one) => one.modelName === modelName)
  if (!rule) return undefined
  const least = rule.spreadAll ? Infinity : rule.minReplicas
  const revision = world.models.find(({ name }) => name === modelName)?.revision
  const active = new Set(world.nodes.filter(({ desired }) => desired === 'active').map((node) => node.id))
  const serving = world.replicas.filter(
    (one) =>
      one.modelName === modelName && one.revision === revision && one.state === 'ready' && active.has(one.nodeId),
  )
  const left = serving.filter((one) => !ended.has(one.id)).length
  const isServing = serving.some((one) => one.id === id)
  // What is outside the selector is going anyway, and is not what the minimum is about.
  const hasSelector = Object.keys(rule.nodeSelector).length > 0
  return isServing && !hasSelector && left < least ? `: ${left} are left of ${least}` : undefined
}

function tooEarly({ nowMs, demands }: World, { modelName, readySinceMs, lastUsedMs }: Replica): string | undefined {
  const residentMs = nowMs - (readySinceMs ?? nowMs)
  if (residentMs >= RESIDENCY_MS) return undefined
  const idleMs = nowMs - Math.max(readySinceMs ?? nowMs, lastUsedMs ?? 0)
  const isWanted = demands.some((one) => one.modelName === modelName && one.wantedUntilMs > nowMs)
  if (isWanted) return `after ${residentMs} ms, though somebody waits for it`
  return idleMs >= IDLE_MS ? undefined : `after ${residentMs} ms, and ${idleMs} ms after its last request`
}
