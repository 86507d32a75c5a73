import { useRef, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import type { NodeView } from '../../../../../src/api/admin/schemas.ts'
import { countText } from '../../../format/figures.ts'
import { linkTo } from '../../../links.ts'
import { Ago } from '../../../parts/ago.tsx'
import { isPlainClick } from './is-plain-click.ts'
import { ApproveButton } from '../approve-button.tsx'
import { NodeIdentity } from '../node-identity.tsx'
import { NodeMemoryFigures } from '../node-memory-figures.tsx'
import { NodeMenu } from '../node-menu.tsx'
import { NodeStanding } from '../node-standing.tsx'
import style from './roster-cards.module.css'
import { useWindowRows } from './use-window-rows.ts'

const CARD_PX = 190

/** The roster where there is no room for a table. */
export function RosterCards({ nodes }: { nodes: readonly NodeView[] }): ReactNode {
  const list = useRef<HTMLUListElement>(null)
  const [, navigate] = useLocation()
  const { rows, beforePx, afterPx, measure } = useWindowRows(nodes, list, CARD_PX)
  return (
    <ul ref={list} aria-label="Nodes" style={{ paddingTop: beforePx, paddingBottom: afterPx }}>
      {rows.map(({ item: node, index }) => (
        <li
          key={node.id}
          ref={measure}
          data-index={index}
          aria-posinset={index + 1}
          aria-setsize={nodes.length}
          className={style['place']}
          onClick={(event) => isPlainClick(event) && navigate(linkTo.node(node.id))}
        >
          <div className={style['card']}>
            <div className={style['head']}>
              <NodeIdentity node={node} />
              <NodeMenu node={node} />
            </div>
            <div className={style['state']}>
              <NodeStanding node={node} />
              <ApproveButton node={node} />
            </div>
            <NodeMemoryFigures node={node} />
            <p className={`${style['foot']} figures`}>
              {node.node_type === 'backend' && (
                <span>
                  {countText(node.replica_count, 'replica')}, {node.in_flight_count} in flight
                </span>
              )}
              <span>
                Heartbeat <Ago at={node.last_heartbeat} />
              </span>
            </p>
          </div>
        </li>
      ))}
    </ul>
  )
}
