import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { useNode, useReplicasOn } from '../../live/use-live.ts'
import { Ago } from '../../parts/ago.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import { Disclosure } from '../../parts/disclosure.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { Pill } from '../../parts/pill.tsx'
import { NodeStatus } from '../../parts/state-pills.tsx'
import { ManageNode } from './manage/manage-node.tsx'
import { NodeButtons } from './node-buttons.tsx'
import { NodeNotice } from './node-notice.tsx'
import style from './node-page.module.css'
import { NodeReplicas } from './node-replicas.tsx'
import { NodeResources } from './node-resources.tsx'
import { SlotBadge } from './roster/slot-badge.tsx'

/** One machine: what runs on it first, and behind a fold what is set about it. */
export function NodePage({ id }: { id: string }): ReactNode {
  const node = useNode(id)
  const [, navigate] = useLocation()
  if (!node) return <NoSuchNode />
  return (
    <Page
      title={node.name}
      heading={<Heading node={node} />}
      about={<About node={node} />}
      actions={<NodeButtons node={node} onRemoved={() => navigate('/nodes')} />}
    >
      <NodeNotice node={node} />
      <NodeResources node={node} />
      {node.node_type === 'backend' ? (
        <Replicas node={node} />
      ) : (
        <p className={style['muted']}>An agent is a member of the cluster that runs no replicas.</p>
      )}
      <Disclosure title="Manage">
        <ManageNode node={node} />
      </Disclosure>
    </Page>
  )
}

function Heading({ node }: { node: NodeView }): ReactNode {
  return (
    <>
      <span>{node.name}</span>
      <span role="status" className={style['status']}>
        <NodeStatus status={node.status} />
      </span>
      {node.node_type === 'agent' ? <Pill tone="idle">agent</Pill> : <SlotBadge slots={node.max_replicas_per_model} />}
    </>
  )
}

function About({ node }: { node: NodeView }): ReactNode {
  return (
    <ul className={style['facts']}>
      <li>
        <code>{node.address}</code>
      </li>
      <li>Flotilla {node.version}</li>
      <li>
        heartbeat <Ago at={node.last_heartbeat} />
      </li>
      <li>
        joined <Ago at={node.registered_at} />
      </li>
    </ul>
  )
}

function Replicas({ node }: { node: NodeView }): ReactNode {
  return <NodeReplicas node={node} replicas={useReplicasOn(node.id)} />
}

function NoSuchNode(): ReactNode {
  return (
    <Page title="Node not found">
      <Empty action={<ButtonLink to="/nodes">To all nodes</ButtonLink>}>
        There is no node at this address. It may have been removed from the cluster; a machine that joins again gets a
        new one.
      </Empty>
    </Page>
  )
}
