import type { Replica, World } from '../../src/core/types.ts'
import type { AppliedPlan } from './applied-plan.ts'
import type { Check } from './check.ts'

const THERE = new Set(['reserved', 'installing', 'staging', 'loading', 'ready'])

/** However many wait for a model that no rule speaks of, one replica of it is loaded; or one for each that an edit replaces. */
export function oneLoadAtATime(): Check {
  return {
    name: 'one load (cold loads are single)',
    onPlan({ before, plan }: AppliedPlan) {
      const ended = new Set(plan.steps.flatMap((step) => (step.kind === 'reserve' ? [] : [step.replica.id])))
      const placed = plan.steps.flatMap((step) => (step.kind === 'reserve' ? [step] : []))
      for (const { modelName, revision } of placed) {
        if (before.rules.some((rule) => rule.modelName === modelName)) continue
        const rows = before.replicas.filter((row) => row.modelName === modelName)
        const replaced = rows.filter((row) => row.state === 'ready' && row.revision !== revision).length
        const there = rows.filter(
          (row) => row.revision === revision && THERE.has(row.state) && !ended.has(row.id) && mayServe(before, row),
        ).length
        const loaded = placed.filter((step) => step.modelName === modelName).length
        if (there + loaded <= Math.max(1, replaced)) continue
        return `${loaded} of ${modelName} are loaded beside ${there}, though no rule asks for any`
      }
      return undefined
    },
  }
}

/** What is on a node that takes no more requests does not count: somebody else has to be loaded. */
function mayServe({ nodes }: World, { nodeId }: Replica): boolean {
  return nodes.find(({ id }) => id === nodeId)?.desired === 'active'
}
