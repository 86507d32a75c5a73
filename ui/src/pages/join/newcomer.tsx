import { CircleCheck } from 'lucide-react'
import { useEffect, type ReactNode } from 'react'
import type { NodeView, TokenCreated } from '../../../../src/api/admin/schemas.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { spanText } from '../../format/time.ts'
import { linkTo } from '../../links.ts'
import { useNode } from '../../live/use-live.ts'
import { useNow } from '../../live/use-now.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { Failure } from '../../parts/notice.tsx'
import { Spinner } from '../../parts/spinner.tsx'
import { NodeStatus } from '../../parts/state-pills.tsx'
import { ApproveButton } from '../nodes/approve-button.tsx'
import { joinedWith } from './joined-with.ts'
import style from './join-dialog.module.css'

interface NewcomerProps {
  token: TokenCreated
  onJoined: () => void
  /** A token for the next node, or instead of one that has ended. */
  onAgain: () => void
}

/** Waits for the node that joins with a token, and shows it as soon as it is there. */
export function Newcomer({ token, onJoined, onAgain }: NewcomerProps): ReactNode {
  const events = useAnswer('listEvents', { query: { limit: 100 } }, { follows: true })
  const nodeId = joinedWith(token.id, events.data ?? [])
  const node = useNode(nodeId ?? '')
  const leftS = ((token.expires_at ?? Infinity) - useNow()) / 1000
  useEffect(() => {
    if (nodeId !== undefined) onJoined()
  }, [nodeId, onJoined])
  return (
    <div className={style['newcomer']}>
      {events.error && <Failure error={events.error} onRetry={() => void events.refetch()} />}
      <div role="status" className={style['wait']}>
        {node ? (
          <>
            <CircleCheck size={18} aria-hidden className={style['done']} />
            <strong>{node.name} has joined</strong>
            <NodeStatus status={node.status} />
          </>
        ) : leftS > 0 ? (
          <>
            <Spinner /> Waiting for the node…
          </>
        ) : (
          'The token has ended before a node joined.'
        )}
      </div>
      {node ? (
        <Joined node={node} onAgain={onAgain} />
      ) : leftS > 0 ? (
        <span className={style['hint']}>Good for one node, for {spanText(leftS)} more.</span>
      ) : (
        <Button small onClick={onAgain}>
          Make another
        </Button>
      )}
    </div>
  )
}

function Joined({ node, onAgain }: { node: NodeView; onAgain: () => void }): ReactNode {
  return (
    <div className={style['joined']}>
      <ApproveButton node={node} />
      <ButtonLink small to={linkTo.node(node.id)}>
        Open {node.name}
      </ButtonLink>
      <Button small onClick={onAgain}>
        Join another
      </Button>
    </div>
  )
}
