import type { NodeView } from '../../api/admin/schemas.ts'
import { show, viewOf, type Act, type Client } from '../client.ts'
import { confirm } from '../terminal/confirm.ts'
import { findOne } from '../find-one.ts'
import { counted } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { drain } from './drain.ts'
import { label } from './label.ts'
import { budget, slots } from './limits.ts'
import { renderNodes } from './list.ts'
import { renderNode } from './show.ts'

const list: Act = async (client) => {
  const nodes = await client.api.call('listNodes')
  return show(client, nodes, () => renderNodes(nodes, viewOf(client)))
}

const showNode: Act = async (client, { values }) => {
  const node = await findNode(client, values[0]!)
  const replicas = await client.api.call('listNodeModels', { id: node.id })
  return show(client, { ...node, replicas }, () => renderNode(node, replicas, viewOf(client)))
}

const approve: Act = async (client, { values }) => {
  const all = await client.api.call('listNodes')
  // All names are resolved first: a mistyped one must not leave half of them approved.
  const nodes = values.map((wanted) => findOne('node', wanted, all))
  const approved: NodeView[] = []
  for (const node of nodes) {
    approved.push(await client.api.call('approveNode', { id: node.id }))
    const text = node.approved ? 'was approved before' : 'is approved'
    if (!client.json) client.terminal.print(`${plain(node.name)} ${text}.`)
  }
  if (client.json) client.terminal.print(JSON.stringify(approved, null, 2))
  return 0
}

const resume: Act = async (client, { values }) => {
  const { id } = await findNode(client, values[0]!)
  const node = await client.api.call('resumeNode', { id })
  const text = node.status === 'healthy' ? 'takes new work again' : `is no longer draining; it is ${node.status}`
  return show(client, node, () => [`${plain(node.name)} ${text}.`])
}

const remove: Act = async (client, { values, own }) => {
  const node = await findNode(client, values[0]!)
  const name = plain(node.name)
  const what = [counted(node.replica_count, 'replica'), counted(node.in_flight_count, 'request')].join(' and ')
  const isSure = await confirm(client, own, {
    command: 'nodes remove',
    deed: `remove ${name}`,
    about: `${name} is ${node.status}, with ${what}. Its replicas stop, its worker ends.`,
    question: `Remove ${name} for good?`,
    otherwise: 'Nothing was removed.',
  })
  if (!isSure) return 1
  const reply = await client.api.call('deleteNode', { id: node.id })
  return show(client, reply, () => [`${name} is removed.`])
}

const acceptLoss: Act = async (client, { own }) => {
  const isSure = await confirm(client, own, {
    command: 'nodes accept-loss',
    deed: 'accept the loss',
    about: 'Nodes that went silent together are waited for: most often that is a network, not the machines.',
    question: 'Give up their replicas and start them on the nodes that are left?',
    otherwise: 'Nothing was given up.',
  })
  if (!isSure) return 1
  const reply = await client.api.call('acceptLoss')
  const names = reply.nodes.map(plain).join(', ')
  return show(client, reply, () => [
    names === ''
      ? 'There is no loss to accept: replicas of lost nodes are replaced as usual. "flotilla status" shows what is wrong.'
      : `${names}: not waited for any more. Their replicas are replaced.`,
  ])
}

export const nodeActs = {
  list,
  show: showNode,
  approve,
  drain: async (client, given) => drain(client, await findNode(client, given.values[0]!), given.own),
  resume,
  remove,
  'accept-loss': acceptLoss,
  label: async (client, given) => label(client, await findNode(client, given.values[0]!), given.values.slice(1)),
  slots: async (client, given) => slots(client, await findNode(client, given.values[0]!), given.values[1], given.own),
  budget: async (client, given) => budget(client, await findNode(client, given.values[0]!), given.values[1], given.own),
} satisfies Record<string, Act>

async function findNode({ api }: Client, wanted: string): Promise<NodeView> {
  return findOne('node', wanted, await api.call('listNodes'))
}
