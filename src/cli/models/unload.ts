import type { AdminBody } from '../../api/admin/routes.ts'
import type { NodeView, Unloaded } from '../../api/admin/schemas.ts'
import { parseReplicaKey } from '../../core/lib/replica-key.ts'
import { AppError } from '../../platform/errors.ts'
import { atNodes, jsonAt, type AtNode } from '../at-nodes.ts'
import { show, type Act, type Client } from '../client.ts'
import { notFound } from '../find-one.ts'
import { few } from '../terminal/format.ts'
import { nodesToChange } from '../node-scope.ts'
import { findTarget, placedReplica, type PlacedReplica } from '../replica-target.ts'
import { plain } from '../terminal/text-width.ts'
import { unloadEverywhere } from './unload-everywhere.ts'

/** Stops one replica, or all of a model, on some nodes or all. */
export const unload: Act = async (client, given) => {
  const wanted = given.values[0]!
  const running = (await client.api.call('listReplicas')).map(placedReplica)
  // A model as a whole is one call. A key comes first: the name of a model may look like one.
  const isKey = running.some(({ key }) => key === wanted)
  if (!isKey && !given.lists.has('node') && (await isModel(client, wanted))) {
    return unloadEverywhere(client, wanted, given.own.has('force'))
  }
  const target = findTarget(wanted, running)
  const there = running.filter((replica) => target?.matches(replica))
  const hasOne = ({ id }: NodeView): boolean => there.some(({ nodeId }) => nodeId === id)
  const scope = await nodesToChange(client, given, hasOne)
  if (!target) return nothingThere(client, wanted, running)
  const nodes = scope.filter(hasOne)
  if (nodes.length === 0) throw elsewhere(wanted, scope, there)
  const { modelName, key } = there[0]!
  const input: AdminBody<'unloadModel'> = {
    model_name: modelName,
    ...(key === wanted ? { replica_index: parseReplicaKey(key)!.replicaIndex } : {}),
    force: given.own.has('force'),
  }
  const results = await atNodes(nodes, ({ id }) => client.api.call('unloadModel', { id }, input))
  show(
    client,
    jsonAt(results, (reply) => reply),
    () => [...results.flatMap(outcome), ...ruleHint(modelName, results)],
  )
  return results.every(({ error }) => !error) ? 0 : 1
}

async function isModel({ api }: Client, wanted: string): Promise<boolean> {
  return (await api.call('listModels')).some(({ name }) => name === wanted)
}

/** If nothing runs, the goal is reached, provided that the model exists. */
async function nothingThere(client: Client, wanted: string, running: readonly PlacedReplica[]): Promise<number> {
  const models = (await client.api.call('listModels')).map(({ name }) => name)
  if (!models.includes(wanted)) {
    const isKey = parseReplicaKey(wanted) !== undefined
    throw notFound(isKey ? 'replica' : 'model', wanted, isKey ? running.map(({ key }) => key) : models)
  }
  return show(client, [], () => [`${plain(wanted)} has no replicas; nothing was unloaded.`])
}

function elsewhere(wanted: string, scope: readonly NodeView[], there: readonly PlacedReplica[]): AppError {
  const on = few(scope.map(({ name }) => plain(name)))
  return new AppError(
    'not_found',
    `${plain(wanted)} is not on ${on}: flotilla models show ${plain(there[0]!.modelName)} tells where.`,
  )
}

function outcome({ node, reply, error }: AtNode<Unloaded>): string[] {
  const name = plain(node.name)
  if (error) return [`${name}: ${error.message}`]
  if (reply.replicas.length === 0) return [`${name}: nothing of it runs there any more.`]
  return reply.replicas.map(({ key, gone }) => `${name}: ${plain(key)} ${gone ? 'is stopped' : 'is stopping'}.`)
}

function ruleHint(modelName: string, results: readonly AtNode<Unloaded>[]): string[] {
  if (!results.some(({ reply }) => reply?.kept_by_rule)) return []
  return [`A rule asks for ${plain(modelName)}, so it will be started again.`]
}
