import type { AdminReply } from '../../../../src/api/admin/routes.ts'
import type { NodeView, ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { useChange } from '../../api/use-change.ts'
import { liveConnection } from '../../live/connection.ts'
import { useConfirm } from '../../parts/confirm.tsx'
import { restartQuestion, unloadQuestion } from './replica-questions.ts'

interface ReplicaChanges {
  restart: () => void
  unload: () => void
  /** All replicas of its model on its node. */
  unloadAll: () => void
}

/** What can be done to one replica. All of it asks first. */
export function useReplicaChanges(node: NodeView, replica: ReplicaView, isKeptByRule: boolean): ReplicaChanges {
  const { model_name: modelName, replica_index: index } = replica
  const confirm = useConfirm()
  const restart = useChange('restartReplica', { done: ({ text }) => text })
  const unload = useChange('unloadModel', { done: (reply) => unloadedText(reply, modelName, node.name) })

  const unloadOnes = async (isMeant: (one: ReplicaView) => boolean, only?: number): Promise<void> => {
    const meant = (liveConnection.current().world.replicasOn.get(node.id) ?? []).filter(isMeant)
    if (!(await confirm(unloadQuestion(meant, node.name, isKeptByRule)))) return
    unload.mutate({
      params: { id: node.id },
      body: { model_name: modelName, ...(only === undefined ? {} : { replica_index: only }) },
    })
  }
  return {
    restart: () =>
      void confirm(restartQuestion(replica, node.name)).then(
        (isSure) => isSure && restart.mutate({ params: { id: replica.id }, body: {} }),
      ),
    unload: () => void unloadOnes(({ id }) => id === replica.id, index),
    unloadAll: () => void unloadOnes(({ model_name: name }) => name === modelName),
  }
}

function unloadedText(
  { replicas, kept_by_rule: isKept }: AdminReply<'unloadModel'>,
  modelName: string,
  nodeName: string,
): string {
  if (replicas.length === 0) return `${modelName} was no longer on ${nodeName}.`
  const keys = replicas.map(({ key }) => key).join(', ')
  const what = replicas.every(({ gone }) => gone)
    ? `${keys}: unloaded.`
    : `${keys}: unloading, when running requests are done.`
  return isKept ? `${what} A rule asks for ${modelName}: it will be started again.` : what
}
