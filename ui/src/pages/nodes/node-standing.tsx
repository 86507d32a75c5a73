import type { ReactNode } from 'react'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { countText } from '../../format/figures.ts'
import { spanText } from '../../format/time.ts'
import { useNow } from '../../live/use-now.ts'
import { NodeStatus } from '../../parts/state-pills.tsx'
import style from './node-standing.module.css'

/** How a node is, and what there is to wait for. */
export function NodeStanding({ node }: { node: NodeView }): ReactNode {
  return (
    <div className={style['standing']}>
      <NodeStatus status={node.status} />
      <More node={node} />
    </div>
  )
}

function More({ node }: { node: NodeView }): ReactNode {
  switch (node.status) {
    case 'draining':
      return <span className={style['more']}>{leftText(node.in_flight_count)}</span>
    case 'offline':
    case 'unhealthy':
      return <Since at={node.liveness_since} />
    case 'pending':
    case 'healthy':
      return null
  }
}

/** What a draining node has still to do. */
export function leftText(inFlight: number): string {
  return inFlight === 0 ? 'nothing left to finish' : `${countText(inFlight, 'request')} left`
}

function Since({ at }: { at: number }): ReactNode {
  const nowMs = useNow()
  return <span className={`${style['more']} figures`}>for {spanText(Math.max(0, nowMs - at) / 1000)}</span>
}
