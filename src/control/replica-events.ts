import type { EngineExitMessage } from '../api/bus/messages.ts'
import { replicaKey } from '../core/lib/replica-key.ts'
import type { Replica } from '../core/types.ts'
import type { NewEvent } from '../store/events.ts'

type OnNode = Pick<Replica, 'id' | 'nodeId' | 'modelName' | 'replicaIndex'>

/** Of an error that an engine may have written at length; the row has all of it. */
const MOST_REASON_CHARS = 500

export function replicaReady(replica: OnNode, nodeName: string): NewEvent {
  return { ...about(replica, nodeName, 'ready'), reason: `${keyOf(replica)} serves on ${nodeName}` }
}

export function replicaFailed(
  replica: OnNode,
  nodeName: string,
  error: string | null,
  exit: EngineExitMessage | null,
): NewEvent {
  const [firstLine = ''] = (error ?? '').split('\n', 1)
  const event = about(replica, nodeName, 'failed')
  return {
    ...event,
    reason: firstLine.slice(0, MOST_REASON_CHARS) || `${keyOf(replica)} failed on ${nodeName} and does not say why`,
    data: { ...event.data, exit_code: exit?.code ?? null, signal: exit?.signal ?? null },
  }
}

/** Nobody asked it to end. */
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
