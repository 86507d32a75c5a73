import { isOnTheWay } from '../on-the-way.ts'
import type { ReplicaState } from '../../src/core/types.ts'
import type { AppliedPlan } from '../ground.ts'
import type { Store } from '../store.ts'
import type { Check } from './check.ts'
import { isMeant } from './meant.ts'

/** However many wait for a model that no rule keeps running, one replica of it is loaded; or one for each that an edit replaces. */
export function oneLoadCheck(): Check {
  return {
    name: 'one load (cold loads are single)',
    look({ ground }) {
      for (const plan of ground.happened.applied) {
        const problem = doubled(ground.store, plan)
        if (problem) return problem
      }
      return undefined
    },
  }
}

function doubled(store: Store, { before, steps }: AppliedPlan): string | undefined {
  for (const step of steps) {
    if (step.kind !== 'reserve') continue
    const { modelName, revision } = step
    const rule = store.rules.get(modelName)
    if (rule && (rule.spreadAll || rule.minReplicas > 0)) continue
    const replaced = before.replicas.filter(
      (row) => row.modelName === modelName && row.state === 'ready' && row.revision !== revision,
    ).length
    const current = [...store.replicas.values()].filter(
      (row) => row.modelName === modelName && row.revision === revision && isThere(row.state) && mayServe(store, row),
    )
    if (current.length <= Math.max(1, replaced)) continue
    const starting = current.filter(({ state }) => isOnTheWay(state)).length
    return `${starting} of ${current.length} replicas of ${modelName} are being loaded, though no rule asks for any`
  }
  return undefined
}

function isThere(state: ReplicaState): boolean {
  return state === 'ready' || isOnTheWay(state)
}

/** What is on a node that takes no more requests of this model does not count: somebody else has to be loaded. */
function mayServe(store: Store, { nodeId, modelName }: { nodeId: string; modelName: string }): boolean {
  const node = store.nodes.find(nodeId)
  return node?.desired === 'active' && isMeant(store.rules.get(modelName), node)
}
