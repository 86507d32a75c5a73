import type { ReactNode } from 'react'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { countText } from '../../format/figures.ts'
import { Ago } from '../../parts/ago.tsx'
import { Notice } from '../../parts/notice.tsx'

/** What is not as it should be with a node, and what follows from it. */
export function NodeNotice({ node }: { node: NodeView }): ReactNode {
  const { name, status, in_flight_count: inFlight } = node
  switch (status) {
    case 'healthy':
      return null
    case 'pending':
      return (
        <Notice tone="warn">
          {name} waits for your approval. Until then it gets no work and none of the cluster's secrets.
        </Notice>
      )
    case 'draining':
      return (
        <Notice>
          <span aria-live="polite">
            {inFlight > 0
              ? `Draining: ${countText(inFlight, 'request')} left. No new ones come, and no replicas are placed here.`
              : 'Drained: no request is left. The machine can be stopped, or resumed to take requests again.'}
          </span>
        </Notice>
      )
    case 'unhealthy':
      return (
        <Notice tone="bad">
          {name} does not answer: it was last heard <Ago at={node.last_heartbeat} />. It gets no requests, and if it
          stays silent its replicas are replaced elsewhere.
        </Notice>
      )
    case 'offline':
      return (
        <Notice tone="bad">
          {name} is offline; it was last heard <Ago at={node.last_heartbeat} />. When its worker runs again it takes
          part by itself.
        </Notice>
      )
  }
}
