import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useAnswer } from '../../api/use-answer.ts'
import { durationText, rateText } from '../../format/figures.ts'
import { linkTo } from '../../links.ts'
import { useReplicas } from '../../live/use-live.ts'
import { Notice } from '../../parts/notice.tsx'
import { Pill } from '../../parts/pill.tsx'
import { Spinner } from '../../parts/spinner.tsx'
import { useSession } from '../../shell/session.tsx'
import style from './chat-turn.module.css'
import { LoadProgress } from './load-progress.tsx'
import type { Turn } from './use-chat.ts'

/** A question, its answer as it comes, and who gave it how fast. */
export function ChatTurn({ turn }: { turn: Turn }): ReactNode {
  return (
    <article className={style['turn']}>
      <p className={style['question']}>{turn.question}</p>
      <div className={style['answer']}>
        {turn.state === 'waiting' && (
          <p className={style['waiting']}>
            <Spinner /> Waiting for {turn.model}…
          </p>
        )}
        {turn.state === 'loading' && turn.loading && <LoadProgress model={turn.model} loading={turn.loading} />}
        {turn.text !== '' && <div className={style['text']}>{turn.text}</div>}
        {turn.error !== undefined && <Notice tone="bad">{turn.error}</Notice>}
        {turn.state === 'stopped' && <p className={style['waiting']}>Stopped.</p>}
        <Facts turn={turn} />
      </div>
    </article>
  )
}

function Facts({ turn }: { turn: Turn }): ReactNode {
  const { isSignedIn } = useSession()
  const isOver = turn.state === 'done' || turn.state === 'failed'
  if (turn.firstTokenMs === undefined && !isOver) return null
  const { tokens, spokeMs, firstTokenMs } = turn
  const speed =
    tokens !== undefined && tokens > 1 && spokeMs !== undefined && spokeMs > 0
      ? ((tokens - 1) * 1000) / spokeMs
      : undefined
  return (
    <p className={`${style['facts']} figures`}>
      {isSignedIn && isOver && turn.requestId !== undefined ? (
        <ServedBy requestId={turn.requestId} />
      ) : (
        turn.served && <Pill tone="outline">{turn.served.node}</Pill>
      )}
      {firstTokenMs !== undefined && <span>first token {durationText(firstTokenMs)}</span>}
      {speed !== undefined && <span>{rateText(speed)} tokens/s</span>}
      {tokens !== undefined && <span>{tokens} tokens</span>}
      {isSignedIn && isOver && turn.requestId !== undefined && (
        <Link href={linkTo.whyRequest(turn.requestId)}>why there</Link>
      )}
    </p>
  )
}

/** The gateway that routed it keeps a record; which replica that was, the live stream knows. */
function ServedBy({ requestId }: { requestId: string }): ReactNode {
  const record = useAnswer('explainRequest', { params: { id: requestId } })
  const replicas = useReplicas()
  const served = record.data?.tries.findLast(({ outcome }) => outcome === 'served') ?? record.data?.tries.at(-1)
  if (!served) return null
  const replica = replicas.find(({ id }) => id === served.replica_id)
  return (
    <Pill tone="outline">
      {served.node_name}
      {replica && ` · replica ${replica.replica_index}`}
    </Pill>
  )
}
