import type { ModelExplanation } from '../../api/admin/model-schemas.ts'
import type { View } from '../client.ts'
import { gib } from '../terminal/format.ts'
import { errorLines } from '../text/replica-text.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'

/** More of one model than a terminal holds; --json has all of them. */
const MOST_REPLICAS = 40
const INDENT = 2

/** Where the model runs or is being started, and the reserved and measured memory of each replica. */
export function replicaLines({ nodes }: ModelExplanation, view: View): string[] {
  const all = nodes.flatMap(({ node_name: node, replicas }) => replicas.map((replica) => ({ node, ...replica })))
  if (all.length === 0) return []
  const shown = all.slice(0, MOST_REPLICAS)
  const more = all.length - shown.length
  const lines = table(
    [
      { title: 'REPLICA', shrink: { to: 12, turn: 2 } },
      { title: 'NODE', shrink: { to: 8, turn: 1 } },
      { title: 'STATE' },
      { title: 'IN FLIGHT', align: 'right' },
      { title: 'CLAIM', align: 'right' },
      { title: 'MEASURED', align: 'right', optional: true },
    ],
    shown.map(({ key, node, state, is_current: isCurrent, in_flight: running, claimed, measured }) => [
      plain(key),
      plain(node),
      `${plain(state)}${isCurrent ? '' : ' (old)'}`,
      String(running),
      gib(claimed),
      measured === null ? '-' : gib(measured),
    ]),
    { ...view, indent: INDENT },
  )
  // The titles take two lines where the table is too wide.
  const first = lines.length - shown.length
  return [
    ...lines.flatMap((line, i) => [line, ...errorLines(shown[i - first]?.error ?? null, view)]),
    ...(more > 0 ? [`${' '.repeat(INDENT)}and ${more} more; --json has all`] : []),
  ]
}
