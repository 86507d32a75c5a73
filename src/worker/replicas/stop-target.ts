import type { StopTarget } from '../../api/bus/messages.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'

export interface Stoppable {
  spec: { id: string; generation: number; model_name: string; replica_index: number; engine: string }
}

/**
 * Exactly the replicas that a command means. A model's name means all its replicas, a full key one of them; an unknown
 * name means none. Replicas that were started after the command was given are left alone.
 */
export function replicasMeant<R extends Stoppable>(target: StopTarget, replicas: Iterable<R>): R[] {
  return [...replicas].filter(({ spec }) => {
    if (target.what === 'replica') return spec.id === target.id && spec.generation === target.generation
    if (spec.generation > target.not_after) return false
    switch (target.what) {
      case 'key':
        return replicaKey(spec.model_name, spec.replica_index) === target.key
      case 'model':
        return spec.model_name === target.model_name
      case 'engine':
        return spec.engine === target.engine
      case 'all':
        return true
    }
  })
}
