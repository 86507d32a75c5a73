import { isOnTheWay } from '../lifecycle/states.ts'
import type { Model, Replica } from '../types.ts'

export type ModelState = 'ready' | 'starting' | 'failed' | 'stopped'

/** What a model is by its replicas: on its way when one of what it means today is, failed when only failures are left. */
export function modelState(
  { revision }: Pick<Model, 'revision'>,
  isServed: boolean,
  replicas: readonly Replica[],
): ModelState {
  if (isServed) return 'ready'
  const current = replicas.filter((replica) => replica.revision === revision)
  if (current.some(({ state }) => isOnTheWay(state))) return 'starting'
  return current.some(({ state }) => state === 'failed') ? 'failed' : 'stopped'
}
