import { useCallback, type ReactNode } from 'react'
import type { NodeView } from '../../../../../src/api/admin/schemas.ts'
import fieldStyle from '../../../parts/field.module.css'
import { SearchField } from '../../../parts/search-field.tsx'
import { Segmented } from '../../../parts/segmented.tsx'
import { LabelSelect } from './label-select.tsx'
import style from './roster-toolbar.module.css'
import { sortedBy, sortKeys, statuses, type RosterView, type SortKey } from './roster.ts'

const STATUS_TEXT: Record<NodeView['status'], string> = {
  pending: 'Pending approval',
  offline: 'Offline',
  unhealthy: 'Unhealthy',
  draining: 'Draining',
  healthy: 'Healthy',
}

const SORT_TEXT: Record<SortKey, string> = {
  name: 'Name',
  status: 'Status',
  memory: 'Memory in use',
  replicas: 'Replicas',
  in_flight: 'In flight',
  heartbeat: 'Heartbeat',
}

interface RosterToolbarProps {
  nodes: readonly NodeView[]
  view: RosterView
  onChange: (change: Partial<RosterView>) => void
  /** There are no columns to sort by. */
  hasNoTable: boolean
}

/** What narrows the roster down. */
export function RosterToolbar({ nodes, view, onChange, hasNoTable }: RosterToolbarProps): ReactNode {
  const onLabel = useCallback((label: string) => onChange({ label }), [onChange])
  const count = (is: (node: NodeView) => boolean): number => nodes.filter(is).length
  const ofType = (type: NodeView['node_type']): number => count((node) => node.node_type === type)
  return (
    <div className={style['toolbar']} role="search" aria-label="Nodes">
      <SearchField
        label="Search nodes"
        placeholder="Name, address, label or model"
        value={view.search}
        onChange={(search) => onChange({ search })}
      />
      <Segmented
        label="Type of node"
        value={view.type}
        onChange={(type) => onChange({ type })}
        options={[
          { value: 'all', label: `All ${nodes.length}` },
          { value: 'backend', label: `Backend ${ofType('backend')}` },
          { value: 'agent', label: `Agent ${ofType('agent')}` },
        ]}
      />
      <select
        className={fieldStyle['input']}
        aria-label="Status"
        value={view.status}
        onChange={({ target }) => onChange({ status: target.value as RosterView['status'] })}
      >
        <option value="">Any status</option>
        {statuses.map((status) => (
          <option key={status} value={status}>
            {STATUS_TEXT[status]} ({count((node) => node.status === status)})
          </option>
        ))}
      </select>
      <LabelSelect nodes={nodes} value={view.label} onChange={onLabel} />
      {hasNoTable && (
        <select
          className={fieldStyle['input']}
          aria-label="Sort by"
          value={view.sort}
          onChange={({ target }) => onChange(sortedBy(target.value as SortKey))}
        >
          {sortKeys.map((key) => (
            <option key={key} value={key}>
              Sort by: {SORT_TEXT[key]}
            </option>
          ))}
        </select>
      )}
    </div>
  )
}
