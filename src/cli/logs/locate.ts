import type { LogEntry, NodeView } from '../../api/admin/schemas.ts'
import { nearNames } from '../../core/lib/near-names.ts'
import { parseReplicaKey } from '../../core/lib/replica-key.ts'
import { AppError } from '../../platform/errors.ts'
import { answered, atNodes } from '../at-nodes.ts'
import type { Client } from '../client.ts'
import { few } from '../terminal/format.ts'
import { findTarget, modelTarget, placedReplica, type PlacedReplica, type ReplicaTarget } from '../replica-target.ts'
import { plain } from '../terminal/text-width.ts'

export interface Located {
  target: ReplicaTarget
  nodes: NodeView[]
}

/**
 * The nodes with logs of what is wanted. Nodes with its replicas are known at once; only for a model that runs nowhere
 * is every node asked. With `follow`, the model may have no replica yet.
 */
export async function locate(
  client: Client,
  wanted: string,
  scope: readonly NodeView[],
  { follow, signal }: { follow: boolean; signal: AbortSignal | undefined },
): Promise<Located> {
  const running = (await client.api.call('listReplicas', {}, undefined, signal)).map(placedReplica)
  const here = running.filter(({ nodeId }) => scope.some(({ id }) => id === nodeId))
  const found = pick(wanted, here, scope)
  if (found) return found
  const kept = await listKept(client, scope, signal)
  const earlier = pick(wanted, kept, scope)
  if (earlier) return earlier
  const models = await client.api.call('listModels', {}, undefined, signal)
  if (!models.some(({ name }) => name === wanted)) {
    throw new AppError(
      'not_found',
      `There are no logs of "${plain(wanted)}". ${whatThereIs(wanted, [...here, ...kept])}`,
    )
  }
  if (!follow)
    throw new AppError('not_found', `${plain(wanted)} has no logs ${where(scope)}: nothing of it has run there.`)
  client.terminal.note(`${plain(wanted)} has no logs yet; waiting for its first replica.`)
  return { target: modelTarget(wanted), nodes: [] }
}

/** What has logs, node by node. */
export async function listEntries(
  client: Client,
  nodes: readonly NodeView[],
  signal?: AbortSignal,
): Promise<{ node: NodeView; reply: LogEntry[] }[]> {
  const asked = await atNodes(nodes, ({ id }) => client.api.call('listLogs', { id }, undefined, signal))
  return answered(client, asked)
}

/** Replicas that are gone and whose logs remain. */
async function listKept(
  client: Client,
  nodes: readonly NodeView[],
  signal: AbortSignal | undefined,
): Promise<PlacedReplica[]> {
  const entries = await listEntries(client, nodes, signal)
  return entries.flatMap(({ node, reply }) =>
    reply.flatMap(({ model_name: modelName, replicas }) =>
      replicas.map(({ key }) => ({ modelName, key, nodeId: node.id })),
    ),
  )
}

function pick(wanted: string, all: readonly PlacedReplica[], scope: readonly NodeView[]): Located | undefined {
  const target = findTarget(wanted, all)
  if (!target) return undefined
  const ids = new Set(all.filter(target.matches).map(({ nodeId }) => nodeId))
  return { target, nodes: scope.filter(({ id }) => ids.has(id)) }
}

/** Lists what exists in place of what was asked for. */
function whatThereIs(wanted: string, all: readonly PlacedReplica[]): string {
  const models = [...new Set(all.map(({ modelName }) => modelName))].toSorted()
  if (models.length === 0) return 'There are no logs at all: no engine has been started.'
  const keys = parseReplicaKey(wanted) ? all.map(({ key }) => key) : []
  const near = nearNames(wanted, new Set([...keys, ...models]))
  return near.length > 0
    ? `Did you mean ${near.map(plain).join(' or ')}?`
    : `There are logs of ${few(models.map(plain))}.`
}

function where(scope: readonly NodeView[]): string {
  return scope.length === 1 ? `on ${plain(scope[0]!.name)}` : 'on any node that is there'
}
