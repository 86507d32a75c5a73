import type { Replica } from '../types.ts'

/** Stands in for the row that the step will insert, so that the next placement sees its slot and memory taken. */
export function reservedReplica(
  step: Pick<Replica, 'modelName' | 'nodeId' | 'replicaIndex' | 'generation' | 'revision' | 'failures' | 'claim'>,
): Replica {
  return {
    id: `${step.nodeId}/${step.modelName}#${step.replicaIndex}`,
    state: 'reserved',
    error: null,
    retryAtMs: null,
    knownFromSeq: null,
    measured: null,
    inFlight: 0,
    lastUsedMs: null,
    readySinceMs: null,
    outOfMemory: false,
    ...step,
  }
}
