import type { BackendView } from '../../api/admin/schemas.ts'
import { nearNames } from '../../core/lib/near-names.ts'
import { atNodes } from '../at-nodes.ts'
import type { Client } from '../client.ts'
import { few, firstSentence } from '../terminal/format.ts'
import { nodesToRead } from '../node-scope.ts'
import { plain } from '../terminal/text-width.ts'

const MOST_NODES = 3

/** Why no node can run an engine, so that you do not wait in vain. Empty when one can, or when that is unknown. */
export async function engineHint(client: Client, engine: string): Promise<string[]> {
  const nodes = await nodesToRead(client, { values: [], own: new Map(), lists: new Map(), rest: [] })
  if (nodes.length === 0) return ['No node is there to run it. flotilla token shows how to add one.']
  const asked = await atNodes(nodes, ({ id }) => client.api.call('listBackends', { id }))
  const backends = asked.flatMap(({ reply }) => reply ?? [])
  const known = backends.filter(({ name }) => name === engine)
  if (asked.some(({ error }) => error) || known.some(mayRun)) return []
  if (known.length === 0) return [`No node knows the engine ${plain(engine)}. ${alternatives(engine, backends)}`]
  const reasons = asked.map(({ node, reply }) => {
    const reason = reply?.find(({ name }) => name === engine)?.reason ?? 'it does not know the engine'
    return `  ${plain(node.name)}: ${plain(firstSentence(reason))}`
  })
  const rest = reasons.length - MOST_NODES
  return ['No node can run it now:', ...reasons.slice(0, MOST_NODES), ...(rest > 0 ? [`  and ${rest} more`] : [])]
}

function mayRun({ state }: BackendView): boolean {
  return state === 'available' || state === 'installable' || state === 'installing'
}

function alternatives(engine: string, backends: readonly BackendView[]): string {
  const names = [...new Set(backends.map(({ name }) => name))]
  const near = nearNames(engine, names)
  return near.length > 0 ? `Did you mean ${near.join(', ')}?` : `There are ${few(names)}.`
}
