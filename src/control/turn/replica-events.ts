import type { EngineExitMessage } from '../../api/bus/messages.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import { describeClaim } from '../../core/placement/describe-claim.ts'
import type { Step } from '../../core/reconcile/plan.ts'
import type { Node, Replica } from '../../core/types.ts'
import type { NewEvent } from '../../store/nouns/events.ts'
import { failureText } from '../../core/explain/failure-text.ts'

type OnNode = Pick<Replica, 'id' | 'nodeId' | 'modelName' | 'replicaIndex'>

export function replicaReady(replica: OnNode, nodeName: string): NewEvent {
  return { ...about(replica, nodeName, 'ready'), reason: `${keyOf(replica)} serves on ${nodeName}` }
}

export function replicaPlaced(slot: Extract<Step, { kind: 'reserve' }>, { name, devices }: Node): NewEvent {
  const { nodeId, modelName, replicaIndex, claim } = slot
  const key = replicaKey(modelName, replicaIndex)
  return {
    actor: 'control',
    action: 'replica.placed',
    nodeId,
    modelName,
    reason: `${key} is placed on ${name}: ${describeClaim(claim, devices.length > 0)}`,
    data: { key, node: name, claim },
  }
}

/** Its memory is needed, and it was idle. */
export function replicaEvicted(replica: OnNode, nodeName: string, forModel: string): NewEvent {
  const event = about(replica, nodeName, 'evicted')
  const reason = `${keyOf(replica)} makes room for ${forModel} on ${nodeName}`
  return { ...event, reason, data: { ...event.data, for: forModel } }
}

export function replicaFailed(
  replica: OnNode,
  nodeName: string,
  error: string | null,
  exit: EngineExitMessage | null,
): NewEvent {
  const event = about(replica, nodeName, 'failed')
  return {
    ...event,
    reason: failureText(error) || `${keyOf(replica)} failed on ${nodeName} for an unknown reason`,
    data: { ...event.data, exit_code: exit?.code ?? null, signal: exit?.signal ?? null },
  }
}

/** It ended without a command. */
export function replicaLost(replica: OnNode, nodeName: string, why: string): NewEvent {
  return { ...about(replica, nodeName, 'lost'), reason: `${keyOf(replica)} is lost: ${why}` }
}

function about(replica: OnNode, nodeName: string, what: string) {
  const { id, nodeId, modelName } = replica
  const data = { key: keyOf(replica), replica_id: id, node: nodeName }
  return { actor: 'control', action: `replica.${what}`, nodeId, modelName, data }
}

function keyOf({ modelName, replicaIndex }: OnNode): string {
  return replicaKey(modelName, replicaIndex)
}
