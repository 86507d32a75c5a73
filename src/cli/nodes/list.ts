import type { NodeView } from '../../api/admin/schemas.ts'
import type { View } from '../client.ts'
import { counted, shellWord, shortGibOf, span } from '../terminal/format.ts'
import type { Look } from '../terminal/style.ts'
import { table, type Cell, type Column } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'

const columns: readonly Column[] = [
  { title: 'NAME', shrink: { to: 8, turn: 2 } },
  { title: 'STATUS' },
  { title: 'REPLICAS', align: 'right' },
  { title: 'IN FLIGHT', align: 'right' },
  { title: 'FREE VRAM' },
  { title: 'FREE RAM' },
  { title: 'LABELS', shrink: { to: 8, turn: 1 }, spare: 1 },
  { title: 'LAST SEEN' },
]

export const statusLooks: Record<NodeView['status'], Look> = {
  healthy: 'green',
  pending: 'yellow',
  draining: 'cyan',
  unhealthy: 'red',
  offline: 'red',
}

/** All nodes as a table, and what to do next where something waits for a person. */
export function renderNodes(nodes: readonly NodeView[], view: View): string[] {
  if (nodes.length === 0) {
    return ['There are no nodes yet.', `flotilla token${view.sameCluster} shows how a machine joins.`]
  }
  const pending = nodes.filter((node) => node.status === 'pending')
  return [
    ...table(
      columns,
      nodes.map((node) => row(node, view)),
      view,
    ),
    ...(pending.length === 0 ? [] : ['', ...approvalHint(pending, view)]),
  ]
}

function row(node: NodeView, { nowMs }: View): (Cell | string)[] {
  return [
    plain(node.name),
    { text: node.status, look: statusLooks[node.status] },
    node.node_type === 'agent' ? 'agent' : String(node.replica_count),
    String(node.in_flight_count),
    shortGibOf(node.available_vram, node.total_vram),
    shortGibOf(node.available_ram, node.total_ram),
    shortLabels(node),
    node.last_heartbeat === null ? 'never' : span(nowMs - node.last_heartbeat),
  ]
}

/** Configured labels; the other columns show what follows from the machine. */
function shortLabels({ labels, label_sources: sources }: NodeView): string {
  const chosen = Object.entries(labels).filter(([key]) => sources[key] !== 'auto')
  return chosen.map(([key, value]) => plain(`${key}=${value}`)).join(',')
}

/** Commands to paste, as many as it takes for each to fit a line. */
function approvalHint(pending: readonly NodeView[], { width, paint, sameCluster }: View): string[] {
  const lines: string[] = []
  const begin = '  flotilla nodes approve'
  let line = begin
  for (const { id, name } of pending) {
    // The id replaces a name that a terminal or a shell would garble.
    const word = ` ${plain(name) === name ? shellWord(name) : id}`
    if (line !== begin && line.length + word.length + sameCluster.length > width) {
      lines.push(line + sameCluster)
      line = begin
    }
    line += word
  }
  const verb = pending.length === 1 ? 'waits' : 'wait'
  const title = `${counted(pending.length, 'node')} ${verb} for approval:`
  return [paint('yellow', title), ...lines, line + sameCluster]
}
