import { memo, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import type { NodeView } from '../../../../../src/api/admin/schemas.ts'
import { linkTo } from '../../../links.ts'
import { Ago } from '../../../parts/ago.tsx'
import table from '../../../parts/table.module.css'
import { isPlainClick } from './is-plain-click.ts'
import { ApproveButton } from '../approve-button.tsx'
import { NodeIdentity } from '../node-identity.tsx'
import { NodeMemoryFigures } from '../node-memory-figures.tsx'
import { NodeMenu } from '../node-menu.tsx'
import { NodeStanding } from '../node-standing.tsx'
import style from './roster-table.module.css'

interface RosterRowProps {
  node: NodeView
  index: number
  measure: ((row: HTMLElement | null) => void) | undefined
}

/** A click anywhere on it opens the node; with the keyboard its name does. */
export const RosterRow = memo(function RosterRow({ node, index, measure }: RosterRowProps): ReactNode {
  const [, navigate] = useLocation()
  return (
    <tr
      ref={measure}
      data-index={index}
      aria-rowindex={index + 2}
      className={style['row']}
      onClick={(event) => isPlainClick(event) && navigate(linkTo.node(node.id))}
    >
      <td>
        <NodeIdentity node={node} />
      </td>
      <td>
        <div className={style['state']}>
          <NodeStanding node={node} />
          <ApproveButton node={node} />
        </div>
      </td>
      <td>
        <NodeMemoryFigures node={node} />
      </td>
      <td className={table['number']}>
        {node.node_type === 'agent' ? '–' : node.replica_count}
        {node.in_flight_count > 0 && <span className={style['alsoInFlight']}>{node.in_flight_count} in flight</span>}
      </td>
      <td className={`${style['in_flight']} ${table['number']}`}>
        {node.node_type === 'agent' ? '–' : node.in_flight_count}
      </td>
      <td className={table['number']}>
        <Ago at={node.last_heartbeat} />
      </td>
      <td className={table['actions']}>
        <NodeMenu node={node} />
      </td>
    </tr>
  )
})
