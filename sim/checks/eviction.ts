import type { Rule } from '../../src/core/types.ts'
import type { StoredWorld } from '../../src/store/world.ts'
import type { AppliedPlan } from '../ground.ts'
import type { Check } from './check.ts'
import { isMeant } from './meant.ts'

/** Only what the leader saw idle is stopped for another, and never so that fewer are left than a rule asks for. */
export function evictionCheck(): Check {
  return {
    name: 'eviction (idle ones above the minimum)',
    look({ ground }) {
      for (const plan of ground.happened.applied) {
        const problem = busyVictim(plan) ?? belowMinimum(plan)
        if (problem) return problem
      }
      return undefined
    },
  }
}

function busyVictim({ before, steps }: AppliedPlan): string | undefined {
  for (const step of steps) {
    if (step.kind !== 'evict') continue
    const row = before.replicas.find(({ id }) => id === step.replica.id)
    const name = `${step.replica.id} of ${step.replica.modelName} was evicted for ${step.forModel}`
    if (row?.state !== 'ready') return `${name}, and was ${row?.state ?? 'not there'}`
    if (row.inFlight > 0) return `${name} while it served ${row.inFlight} requests`
    if (step.forModel === step.replica.modelName) return `${name}, which is the same model`
  }
  return undefined
}

function belowMinimum({ before, steps }: AppliedPlan): string | undefined {
  const ended = new Set(steps.flatMap((step) => (step.kind === 'reserve' ? [] : [step.replica.id])))
  for (const step of steps) {
    if (step.kind !== 'evict') continue
    const { modelName } = step.replica
    const rule = before.rules.find((one) => one.modelName === modelName)
    const least = rule?.spreadAll ? Infinity : (rule?.minReplicas ?? 0)
    const serving = servingOf(before, modelName, rule)
    const left = serving.filter((id) => !ended.has(id)).length
    if (left < least && left < serving.length && serving.includes(step.replica.id)) {
      return `${step.replica.id} was evicted for ${step.forModel}: ${left} replicas of ${modelName} are left of ${least}`
    }
  }
  return undefined
}

function servingOf({ replicas, models, nodes }: StoredWorld, modelName: string, rule: Rule | undefined): string[] {
  const revision = models.find(({ name }) => name === modelName)?.revision
  const places = new Set(nodes.filter((node) => node.desired === 'active' && isMeant(rule, node)).map(({ id }) => id))
  const mine = replicas.filter((row) => row.modelName === modelName && row.revision === revision)
  return mine.filter(({ state, nodeId }) => state === 'ready' && places.has(nodeId)).map(({ id }) => id)
}
