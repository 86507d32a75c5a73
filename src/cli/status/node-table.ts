import type { ClusterView } from '../../api/admin/cluster-schemas.ts'
import type { View } from '../client.ts'
import { counted, shortGibOf } from '../terminal/format.ts'
import { statusLooks } from '../nodes/list.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'

type Node = ClusterView['nodes'][number]

/** More would leave no room for the rest of the screen. */
const MOST_ROWS = 12

/** Those that need a look first, then those with most to do; what more there are is counted. */
export function nodeTable(nodes: readonly Node[], view: View): string[] {
  if (nodes.length === 0)
    return [`There are no nodes yet: flotilla token${view.sameCluster} shows how a machine joins.`]
  const isFew = nodes.length <= MOST_ROWS
  const shown = isFew ? nodes : nodes.toSorted(byInterest).slice(0, MOST_ROWS)
  return [
    ...table(
      [
        { title: 'NODE', shrink: { to: 8, turn: 1 } },
        { title: 'STATUS' },
        { title: 'REPLICAS', align: 'right' },
        { title: 'IN FLIGHT', align: 'right' },
        { title: 'FREE VRAM' },
        { title: 'FREE RAM' },
      ],
      shown.map((node) => [
        plain(node.name),
        { text: node.status, look: statusLooks[node.status] },
        node.node_type === 'agent' ? 'agent' : String(node.replica_count),
        String(node.in_flight_count),
        shortGibOf(node.available_vram, node.total_vram),
        shortGibOf(node.available_ram, node.total_ram),
      ]),
      view,
    ),
    ...(isFew
      ? []
      : [
          restText(
            nodes.filter((node) => !shown.includes(node)),
            view,
          ),
        ]),
  ]
}

function byInterest(a: Node, b: Node): number {
  return rankOf(a) - rankOf(b) || b.in_flight_count - a.in_flight_count || b.replica_count - a.replica_count
}

const order: readonly Node['status'][] = ['offline', 'unhealthy', 'pending', 'draining', 'healthy']

function rankOf({ status }: Node): number {
  return order.indexOf(status)
}

function restText(rest: readonly Node[], { sameCluster }: View): string {
  const kinds = [...Map.groupBy(rest, ({ status }) => status)].map(([status, some]) => `${some.length} ${status}`)
  return `and ${counted(rest.length, 'node')} more (${kinds.join(', ')}): flotilla nodes${sameCluster}`
}
