import type { ModelExplanation } from '../../api/admin/model-schemas.ts'
import type { View } from '../client.ts'
import { hasAllWanted } from '../../core/lib/has-all-wanted.ts'
import { gib } from '../terminal/format.ts'
import type { Look } from '../terminal/style.ts'
import { table, type Cell } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'

type ExplainedNode = ModelExplanation['nodes'][number]

/** A terminal holds no thousands of nodes; --json has all of them. */
const MOST_NODES = 40
const INDENT = 2

/**
 * Whether each node could take another replica, those that could first; for the others the filter that refuses it, with
 * numbers.
 */
export function nodeTable(explanation: ModelExplanation, view: View): string[] {
  const { nodes } = explanation
  // A refusal does not matter if no more replicas are wanted.
  const look = hasAllWanted(explanation) ? 'dim' : 'yellow'
  if (nodes.length === 0) return [`${' '.repeat(INDENT)}There are no nodes.`]
  const sorted = nodes.toSorted((a, b) => rank(a) - rank(b))
  const more = sorted.length - MOST_NODES
  return [
    ...table(
      [
        { title: 'NODE', shrink: { to: 10, turn: 2 } },
        { title: 'ANSWER' },
        { title: 'NEEDED', shrink: { to: 12, turn: 1 } },
        { title: 'AVAILABLE', shrink: { to: 12, turn: 3 } },
      ],
      sorted.slice(0, MOST_NODES).map((node) => row(node, look)),
      { ...view, indent: INDENT },
    ),
    ...(more > 0 ? [`${' '.repeat(INDENT)}and ${more} more; --json has all`] : []),
  ]
}

/** The more filters it has passed, the closer it is. */
function rank({ refusal }: ExplainedNode): number {
  return refusal === null ? 0 : refusal.filter === 'memory' ? 1 : refusal.filter === 'disk' ? 2 : 3
}

function row({ node_name: name, refusal }: ExplainedNode, look: Look): (Cell | string)[] {
  if (!refusal) return [plain(name), { text: 'yes', look: 'green' }, '', '']
  const { filter, needed, available, where } = refusal
  const at = where === null ? '' : ` ${plain(where)}`
  return [
    plain(name),
    { text: `no: ${filter.replaceAll('_', ' ')}`, look },
    valueText(filter, needed),
    `${valueText(filter, available)}${at}`,
  ]
}

function valueText(filter: string, value: string | number): string {
  if (typeof value === 'string') return plain(value)
  return filter === 'memory' || filter === 'disk' ? gib(value) : String(value)
}
