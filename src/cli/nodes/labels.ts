import type { NodeView } from '../../api/admin/schemas.ts'
import type { View } from '../client.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'

type Labelled = Pick<NodeView, 'labels' | 'label_sources'>

export function renderLabels({ labels, label_sources: sources }: Labelled, view: View, indent = 0): string[] {
  const keys = Object.keys(labels).toSorted()
  return table(
    [
      { title: 'KEY', shrink: { to: 16, turn: 2 } },
      { title: 'VALUE', shrink: { to: 16, turn: 1 } },
      { title: 'SOURCE' },
    ],
    keys.map((key) => [plain(key), plain(labels[key]!), sources[key] ?? '']),
    { ...view, indent },
  )
}
