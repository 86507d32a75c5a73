import { useCallback, useMemo, type ReactNode } from 'react'
import { useSearchParams } from 'wouter'
import { countText } from '../../format/figures.ts'
import { useNodes, useWorld } from '../../live/use-live.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { JoinButton } from '../join/join-button.tsx'
import { PendingNotice } from './pending-notice.tsx'
import { RosterCards } from './roster/roster-cards.tsx'
import { RosterTable } from './roster/roster-table.tsx'
import { RosterToolbar } from './roster/roster-toolbar.tsx'
import { readRosterView, rosterOf, writeRosterView, type RosterView } from './roster/roster.ts'
import { useNarrow } from './roster/use-narrow.ts'

/** All machines of the cluster. What is searched and how it is sorted stands in the address, so that one comes back to it. */
export function NodesPage(): ReactNode {
  const nodes = useNodes()
  const replicasOn = useWorld((world) => world.replicasOn)
  const [query, setQuery] = useSearchParams()
  const isNarrow = useNarrow()
  const view = useMemo(() => readRosterView(query), [query])
  const shown = useMemo(() => rosterOf(nodes, replicasOn, view), [nodes, replicasOn, view])
  const onChange = useCallback(
    (change: Partial<RosterView>): void =>
      setQuery((now) => writeRosterView({ ...readRosterView(now), ...change }), { replace: true }),
    [setQuery],
  )
  const about =
    shown.length === nodes.length ? countText(nodes.length, 'node') : `${shown.length} of ${nodes.length} nodes`
  return (
    <Page title="Nodes" about={<span aria-live="polite">{about}</span>} actions={<JoinButton />}>
      <PendingNotice nodes={nodes} />
      {nodes.length === 0 ? (
        // The one button for it stays where it is when the first node comes, and its dialog with it.
        <Empty>
          No machine has joined yet. “Join a node” shows what to run on one; models are placed on it when it is there.
        </Empty>
      ) : (
        <>
          <RosterToolbar nodes={nodes} view={view} onChange={onChange} hasNoTable={isNarrow} />
          {shown.length === 0 ? (
            <Empty action={<Button onClick={() => setQuery('', { replace: true })}>Show all nodes</Button>}>
              No node matches.
            </Empty>
          ) : isNarrow ? (
            <RosterCards nodes={shown} />
          ) : (
            <RosterTable nodes={shown} view={view} onChange={onChange} />
          )}
        </>
      )}
    </Page>
  )
}
