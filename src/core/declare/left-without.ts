import { routableReplicas } from '../routing/table.ts'
import type { PlacePolicy } from '../placement/types.ts'
import type { World } from '../types.ts'
import { impossibleNow } from './foresee.ts'

/** A model that serves now and has nothing that would serve it after a change. */
export interface LeftWithout {
  modelName: string
  /** A replica can be started for it; until that is ready its requests wait. */
  isReplaced: boolean
}

/** Which models a change leaves without a replica that serves. A model that is removed is none of them. Pure. */
export function leftWithout(world: World, other: World, policy: PlacePolicy): LeftWithout[] {
  const serving = servedModels(world)
  const after = servedModels(other)
  const names = other.models.flatMap(({ name }) => (serving.has(name) && !after.has(name) ? [name] : []))
  if (names.length === 0) return []
  // Whether one could be started is known by asking for one.
  const { nowMs } = other
  const demands = names.map((modelName) => ({ modelName, sinceMs: nowMs, wantedUntilMs: nowMs + 60_000 }))
  const asked = { ...other, demands: [...other.demands.filter((one) => !names.includes(one.modelName)), ...demands] }
  const impossible = new Set(impossibleNow(asked, policy).map(({ modelName }) => modelName))
  return names.map((modelName) => ({ modelName, isReplaced: !impossible.has(modelName) }))
}

function servedModels({ models, nodes, replicas, rules }: World): Set<string> {
  return new Set(routableReplicas(models, nodes, replicas, rules).map(({ modelName }) => modelName))
}
