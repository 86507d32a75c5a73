import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'
import type { EventView } from '../../../../src/api/admin/schemas.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { linkTo } from '../../links.ts'
import { useNodes } from '../../live/use-live.ts'
import { Ago } from '../../parts/ago.tsx'
import { Button } from '../../parts/button.tsx'
import { Empty, Failure } from '../../parts/notice.tsx'
import { Panel } from '../../parts/page.tsx'
import { Pill, type PillTone } from '../../parts/pill.tsx'
import { Spinner } from '../../parts/spinner.tsx'
import style from './timeline.module.css'

const PAGE = 50
const MOST = 500

/** What happened, the newest first: of a model, of a node, or everything. It goes on by itself. */
export function Timeline({ modelName, nodeId }: { modelName?: string; nodeId?: string }): ReactNode {
  const [limit, setLimit] = useState(PAGE)
  const events = useAnswer(
    'listEvents',
    { query: { model_name: modelName, node_id: nodeId, limit } },
    { follows: true },
  )
  const canShowMore = events.data?.length === limit && limit < MOST
  return (
    <Panel title="What happened" flush>
      {events.error && <Failure error={events.error} onRetry={() => void events.refetch()} />}
      {events.isPending && <Spinner label="Reading what happened…" />}
      {events.data?.length === 0 && <Empty>Nothing has happened here yet.</Empty>}
      <ol className={style['events']}>
        {events.data?.map((event) => (
          <Event key={event.id} event={event} />
        ))}
      </ol>
      {canShowMore && (
        <p className={style['more']}>
          <Button small tone="quiet" onClick={() => setLimit(Math.min(MOST, limit + 100))}>
            Show earlier ones
          </Button>
        </p>
      )}
    </Panel>
  )
}

function Event({ event }: { event: EventView }): ReactNode {
  const node = useNodes().find(({ id }) => id === event.node_id)
  return (
    <li className={style['event']}>
      <span className={style['when']}>
        <Ago at={event.at} />
      </span>
      <span className={style['action']}>
        <Pill tone={toneOf(event.action)}>{event.action}</Pill>
      </span>
      <span className={style['what']}>
        {event.model_name !== null && <Link href={linkTo.whyModel(event.model_name)}>{event.model_name}</Link>}{' '}
        {node && <Link href={linkTo.node(node.id)}>{node.name}</Link>} {event.reason}{' '}
        <span className={style['actor']}>
          by {event.actor}
          {event.address !== null && ` from ${event.address}`}
        </span>
      </span>
    </li>
  )
}

/** What went wrong stands out; the rest is quiet. */
function toneOf(action: string): PillTone {
  if (/failed|lost|offline|unreachable|unsatisfiable|frozen/.test(action)) return 'bad'
  if (/evict|drain|stopp|unload|remov|delet|revok/.test(action)) return 'warn'
  return /ready|approved|online|joined|met$/.test(action) ? 'ok' : 'idle'
}
