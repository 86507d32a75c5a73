import type { ReactNode } from 'react'
import type { LiveModel } from '../../../src/api/admin/live-schemas.ts'
import type { NodeView, ReplicaView } from '../../../src/api/admin/schemas.ts'
import { Pill, type PillTone } from './pill.tsx'

const NODE: Record<NodeView['status'], [text: string, tone: PillTone]> = {
  healthy: ['Healthy', 'ok'],
  unhealthy: ['Unhealthy', 'bad'],
  offline: ['Offline', 'bad'],
  draining: ['Draining', 'warn'],
  pending: ['Pending Approval', 'warn'],
}

export function NodeStatus({ status }: { status: NodeView['status'] }): ReactNode {
  // A newer frontend may know states that this page does not.
  const [text, tone] = NODE[status] ?? NODE.unhealthy
  return (
    <Pill tone={tone} dot>
      {text}
    </Pill>
  )
}

export const replicaTone: Record<ReplicaView['state'], PillTone> = {
  ready: 'ok',
  reserved: 'busy',
  installing: 'busy',
  staging: 'busy',
  loading: 'busy',
  draining: 'warn',
  stopping: 'warn',
  failed: 'bad',
}

export function ReplicaState({ state }: { state: ReplicaView['state'] }): ReactNode {
  return <Pill tone={replicaTone[state] ?? 'idle'}>{state}</Pill>
}

const MODEL: Record<LiveModel['state'], [text: string, tone: PillTone]> = {
  ready: ['ready', 'ok'],
  starting: ['starting', 'busy'],
  failed: ['failed', 'bad'],
  stopped: ['loaded when asked', 'idle'],
}

export function ModelState({ state }: { state: LiveModel['state'] }): ReactNode {
  const [text, tone] = MODEL[state] ?? [state, 'idle']
  return <Pill tone={tone}>{text}</Pill>
}
