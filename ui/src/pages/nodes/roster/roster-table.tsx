import { ArrowDown, ArrowUp } from 'lucide-react'
import { useRef, type ReactNode } from 'react'
import type { NodeView } from '../../../../../src/api/admin/schemas.ts'
import { Panel } from '../../../parts/page.tsx'
import table from '../../../parts/table.module.css'
import { RosterRow } from './roster-row.tsx'
import style from './roster-table.module.css'
import { sortedBy, type RosterView, type SortKey } from './roster.ts'
import { useWindowRows } from './use-window-rows.ts'

const COLUMNS: readonly { key: SortKey; title: string; isNumber?: boolean }[] = [
  { key: 'name', title: 'Node' },
  { key: 'status', title: 'Status' },
  { key: 'memory', title: 'Memory' },
  { key: 'replicas', title: 'Replicas', isNumber: true },
  { key: 'in_flight', title: 'In flight', isNumber: true },
  { key: 'heartbeat', title: 'Heartbeat', isNumber: true },
]
const ROW_PX = 62

interface RosterTableProps {
  nodes: readonly NodeView[]
  view: RosterView
  onChange: (change: Partial<RosterView>) => void
}

export function RosterTable({ nodes, view, onChange }: RosterTableProps): ReactNode {
  const body = useRef<HTMLTableSectionElement>(null)
  const { rows, beforePx, afterPx, measure } = useWindowRows(nodes, body, ROW_PX)
  const sortBy = (key: SortKey): void =>
    onChange(view.sort === key ? { isDescending: !view.isDescending } : sortedBy(key))
  return (
    <Panel flush>
      {/* Rows that are not in sight are not there, but they are counted. */}
      <table className={`${table['table']} ${style['roster']}`} aria-label="Nodes" aria-rowcount={nodes.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {COLUMNS.map(({ key, title, isNumber }) => (
              <th
                key={key}
                scope="col"
                className={`${style[key] ?? ''} ${isNumber ? table['number'] : ''}`}
                aria-sort={view.sort === key ? (view.isDescending ? 'descending' : 'ascending') : undefined}
              >
                <button type="button" className={style['sort']} onClick={() => sortBy(key)}>
                  {title}
                  {view.sort === key &&
                    (view.isDescending ? <ArrowDown size={13} aria-hidden /> : <ArrowUp size={13} aria-hidden />)}
                </button>
              </th>
            ))}
            <th scope="col" className={style['menu']}>
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          <Gap px={beforePx} />
          {rows.map(({ item, index }) => (
            <RosterRow key={item.id} node={item} index={index} measure={measure} />
          ))}
          <Gap px={afterPx} />
        </tbody>
      </table>
    </Panel>
  )
}

/** Stands for the rows that are left out. */
function Gap({ px }: { px: number }): ReactNode {
  if (px <= 0) return null
  return (
    <tr aria-hidden className={style['gap']}>
      {/* One cell: it would make up columns where some are hidden. */}
      <td style={{ height: px }} />
    </tr>
  )
}
