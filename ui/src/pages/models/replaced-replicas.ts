import type { PlanView } from '../../../../src/api/admin/plan-schemas.ts'
import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'

const ENDED: ReadonlySet<ReplicaView['state']> = new Set(['failed', 'draining', 'stopping'])

/** How many replicas that run would be replaced, because a model would mean something else. */
export function replacedReplicas(
  { changes }: Pick<PlanView, 'changes'>,
  modelName: string,
  replicas: readonly Pick<ReplicaView, 'model_name' | 'revision' | 'state'>[],
): number {
  const change = changes.find(({ noun, name }) => noun === 'model' && name === modelName)
  const after = change?.revision?.after
  if (after === undefined || after === null) return 0
  return replicas.filter(
    ({ model_name: name, revision, state }) => name === modelName && revision !== after && !ENDED.has(state),
  ).length
}
