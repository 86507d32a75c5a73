import type { World } from '../types.ts'
import { reconcile } from './reconcile.ts'

export interface Replacements {
  /** A rule would ask for more than is left. */
  wanted: boolean
  /** Where the first of them would be started. */
  nodeIds: string[]
}

/** What the rules would start for a model if these of its replicas were gone. */
export function replacementsFor(world: World, modelName: string, gone: ReadonlySet<string>): Replacements {
  const plan = reconcile({ ...world, replicas: world.replicas.filter(({ id }) => !gone.has(id)) })
  const nodeIds = plan.steps.flatMap((step) =>
    step.kind === 'reserve' && step.modelName === modelName ? [step.nodeId] : [],
  )
  const isUnmet = plan.unmet.some((rule) => rule.modelName === modelName)
  return { wanted: nodeIds.length > 0 || isUnmet, nodeIds }
}
