import type { NodeView } from '../api/admin/schemas.ts'
import { AppError } from '../platform/errors.ts'
import type { Client, Given } from './client.ts'
import { findOne } from './find-one.ts'
import { few } from './terminal/format.ts'
import { plain } from './terminal/text-width.ts'

/** The nodes to read from: the named ones, else all that are not offline. */
export async function nodesToRead({ api }: Client, { lists }: Given): Promise<NodeView[]> {
  const all = await api.call('listNodes')
  const names = lists.get('node')
  return names ? pick(names, all) : all.filter(runsEngines).filter(isThere)
}

/**
 * The nodes to change: the named ones, or --all that are not offline; the parser requires one of the two. Nodes that
 * are left out are listed, as far as it `concerns` them.
 */
export async function nodesToChange(
  client: Client,
  { lists }: Given,
  concerns: (node: NodeView) => boolean = () => true,
): Promise<NodeView[]> {
  const all = await client.api.call('listNodes')
  const names = lists.get('node')
  if (names) return pick(names, all)
  const able = all.filter(runsEngines)
  const nodes = able.filter(isThere)
  if (nodes.length === 0) throw new AppError('not_found', 'There is no node that is approved, online and runs engines.')
  for (const node of able) {
    if (!isThere(node) && concerns(node)) client.terminal.note(`${plain(node.name)} is offline; it is left out.`)
  }
  return nodes
}

/** As above, for commands that may be given without either: where there is only one node, it is meant. */
export async function nodesOrTheOne(client: Client, given: Given, command: string): Promise<NodeView[]> {
  const mistake = (what: string): AppError => new AppError('usage', `flotilla ${command}: ${what}.`)
  const [isNamed, isAll] = [given.lists.has('node'), given.own.has('all')]
  if (isNamed && isAll) throw mistake('give --node or --all, not both')
  const nodes = await nodesToChange(client, given)
  if (nodes.length === 1 || isNamed || isAll) return nodes
  const names = few(nodes.map(({ name }) => plain(name)))
  throw mistake(`--node or --all is needed, for there are ${nodes.length} nodes: ${names}`)
}

function pick(names: readonly string[], all: readonly NodeView[]): NodeView[] {
  return [...new Set(names.map((wanted) => findOne('node', wanted, all)))]
}

function runsEngines({ node_type: type, approved }: NodeView): boolean {
  return type === 'backend' && approved
}

function isThere({ liveness }: NodeView): boolean {
  return liveness !== 'offline'
}
