import type { BackendView, NodeView } from '../../api/admin/schemas.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import { answered, atNodes, jsonAt } from '../at-nodes.ts'
import { show, viewOf, type Act, type Client } from '../client.ts'
import { confirm } from '../terminal/confirm.ts'
import { findNamed } from '../find-one.ts'
import { few } from '../terminal/format.ts'
import { nodesOrTheOne, nodesToChange, nodesToRead } from '../node-scope.ts'
import { plain } from '../terminal/text-width.ts'
import { installInput } from './install-input.ts'
import { renderEngines } from './list.ts'
import { operate } from './operate.ts'
import { renderEngine } from './show.ts'

const list: Act = async (client, given) => {
  const asked = await listAt(client, await nodesToRead(client, given))
  const engines = answered(client, asked)
  return show(
    client,
    jsonAt(asked, (backends) => ({ backends })),
    () => renderEngines(engines, viewOf(client)),
  )
}

const showEngine: Act = async (client, given) => {
  const engines = answered(client, await listAt(client, await nodesToRead(client, given)))
  const name = findEngine(given.values[0]!, engines)
  const found = engines.flatMap(({ node, reply }) =>
    reply.filter((engine) => engine.name === name).map((engine) => ({ node, engine })),
  )
  const json = found.map(({ node, engine }) => ({ node_id: node.id, node: node.name, ...engine }))
  return show(client, json, () => renderEngine(name, found, viewOf(client)))
}

const install =
  (kind: 'install' | 'upgrade'): Act =>
  async (client, given) => {
    const input = installInput(`engines ${kind}`, given.values[0]!, given)
    const nodes = await nodesOrTheOne(client, given, `engines ${kind}`)
    const engine = findEngine(input.engine, answered(client, await listAt(client, nodes)))
    const route = kind === 'install' ? 'installBackend' : 'upgradeBackend'
    const begin = ({ id }: NodeView): Promise<BackendView> => client.api.call(route, { id }, { ...input, engine })
    return operate(client, nodes, { kind, engine, begin }, !given.own.has('no-wait'))
  }

const remove: Act = async (client, given) => {
  const nodes = await nodesToChange(client, given)
  const engine = findEngine(given.values[0]!, answered(client, await listAt(client, nodes)))
  const where = few(nodes.map(({ name }) => plain(name)))
  const isSure = await confirm(client, given.own, {
    command: 'engines delete',
    deed: `delete ${plain(engine)}`,
    about: given.own.has('yes') ? '' : await whatStops(client, engine, nodes),
    question: `Delete ${plain(engine)} from ${where}?`,
    otherwise: 'Nothing was deleted.',
  })
  if (!isSure) return 1
  const begin = ({ id }: NodeView): Promise<BackendView> => client.api.call('deleteBackend', { id }, { engine })
  return operate(client, nodes, { kind: 'delete', engine, begin }, !given.own.has('no-wait'))
}

export const engineActs = {
  list,
  show: showEngine,
  install: install('install'),
  upgrade: install('upgrade'),
  delete: remove,
} satisfies Record<string, Act>

function listAt({ api }: Client, nodes: readonly NodeView[]): ReturnType<typeof atNodes<BackendView[]>> {
  return atNodes(nodes, ({ id }) => api.call('listBackends', { id }))
}

function findEngine(wanted: string, all: readonly { reply: BackendView[] }[]): string {
  return findNamed(
    'engine',
    wanted,
    all.flatMap(({ reply }) => reply),
  ).name
}

/** The replicas that run on an engine: they stop when it is deleted or upgraded. */
async function whatStops({ api }: Client, engine: string, nodes: readonly NodeView[]): Promise<string> {
  const [models, replicas] = await Promise.all([api.call('listModels'), api.call('listReplicas')])
  const using = new Set(models.filter((model) => model.engine === engine).map(({ name }) => name))
  const stopped = nodes.flatMap(({ id, name }) =>
    replicas
      .filter((replica) => replica.node_id === id && using.has(replica.model_name))
      .map((replica) => `${replicaKey(replica.model_name, replica.replica_index)} on ${name}`),
  )
  return stopped.length === 0 ? 'No replica uses it.' : `These replicas stop first: ${few(stopped.map(plain))}.`
}
