import type { ReplicaView, Unloaded } from '../../api/admin/schemas.ts'
import { show, type Client } from '../client.ts'
import { plain } from '../terminal/text-width.ts'

/** Stops all replicas of a model on all nodes, and cancels its load. */
export async function unloadEverywhere(client: Client, name: string, force: boolean): Promise<number> {
  const { api } = client
  const [replicas, nodes] = await Promise.all([api.call('listReplicas'), api.call('listNodes')])
  const reply = await api.call('unloadModelEverywhere', { name }, { force })
  const nodeOf = ({ node_id: id }: ReplicaView): string => plain(nodes.find((node) => node.id === id)?.name ?? id)
  const where = new Map(replicas.map((replica) => [replica.id, nodeOf(replica)]))
  return show(client, reply, () => outcome(name, reply, where))
}

function outcome(
  name: string,
  { replicas, kept_by_rule: kept }: Unloaded,
  where: ReadonlyMap<string, string>,
): string[] {
  if (replicas.length === 0) return [`${plain(name)} has no replicas; nothing was unloaded.`]
  return [
    ...replicas.map(({ id, key, gone }) => {
      const node = where.get(id)
      return `${node === undefined ? '' : `${node}: `}${plain(key)} ${gone ? 'is stopped' : 'is stopping'}.`
    }),
    ...(kept ? [`A rule asks for ${plain(name)}, so it will be started again.`] : []),
  ]
}
