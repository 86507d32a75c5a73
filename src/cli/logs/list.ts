import type { LogEntry, NodeView } from '../../api/admin/schemas.ts'
import { parseReplicaKey } from '../../core/lib/replica-key.ts'
import type { View } from '../client.ts'
import { span } from '../terminal/format.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'

/** What has logs: one line for each model and node. */
export function renderEntries(all: readonly { node: NodeView; reply: LogEntry[] }[], view: View): string[] {
  const rows = all.flatMap(({ node, reply }) => reply.map((entry) => ({ node, entry })))
  if (rows.length === 0) return ['There are no logs yet: no engine has been started.']
  rows.sort((a, b) => (a.entry.model_name < b.entry.model_name ? -1 : 1))
  return table(
    [
      { title: 'MODEL', shrink: { to: 16, turn: 2 } },
      { title: 'NODE', shrink: { to: 8, turn: 3 } },
      { title: 'REPLICAS', shrink: { to: 8, turn: 1 } },
      { title: 'LINES', align: 'right' },
      { title: 'LAST', align: 'right' },
    ],
    rows.map(({ node, entry }) => [
      plain(entry.model_name),
      plain(node.name),
      entry.replicas.map(({ key }) => `#${parseReplicaKey(key)?.replicaIndex ?? '?'}`).join(' '),
      String(entry.replicas.reduce((sum, { lines }) => sum + lines, 0)),
      `${span(view.nowMs - Math.max(0, ...entry.replicas.map(({ last_at: at }) => at)))} ago`,
    ]),
    view,
  )
}
