import type { ReactNode } from 'react'
import { useNodes } from '../../live/use-live.ts'
import { Empty } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { JoinButton } from '../join/join-button.tsx'
import { Attention } from './attention.tsx'
import { FleetMap } from './fleet-map.tsx'
import { Pulse } from './pulse.tsx'

/** Home: the whole cluster in one picture, and what needs somebody. */
export function FleetPage(): ReactNode {
  const nodes = useNodes()
  return (
    <Page title="Fleet" actions={<JoinButton />}>
      <Pulse />
      <Attention />
      {nodes.length === 0 ? (
        <Empty>No machine has joined yet. “Join a node” shows the command to run on it.</Empty>
      ) : (
        <FleetMap nodes={nodes} />
      )}
    </Page>
  )
}
