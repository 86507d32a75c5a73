import type { ReactNode } from 'react'
import type { LiveModel } from '../../../../src/api/admin/live-schemas.ts'
import type { Loading } from '../../../../src/api/load-status.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { bytesText } from '../../format/bytes.ts'
import { clockText, spanText } from '../../format/time.ts'
import { Failure, Notice } from '../../parts/notice.tsx'
import style from './model-page.module.css'

/** How far a model is on its way, or what keeps it from being loaded. */
export function LoadNotice({ model: { name } }: { model: LiveModel }): ReactNode {
  const { data, error, refetch } = useAnswer('loadStatus', { params: { name } }, { follows: true })
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data || data.state === 'ready' || data.state === 'stopped') return null
  const { state, loading, reason, next_attempt_at: nextAt } = data
  const again = nextAt === null ? '' : ` It is tried again at ${clockText(nextAt)}.`
  if (state === 'loading' && loading) {
    return (
      <Notice>
        <div className={style['loading']} role="status">
          <p>
            <b>{phaseText(loading)}</b> {progressText(loading)}
          </p>
          {loading.total_bytes > 0 && (
            <div className={style['bar']} aria-hidden>
              <span style={{ width: `${loading.progress}%` }} />
            </div>
          )}
          {reason !== null && <p>{reason}</p>}
        </div>
      </Notice>
    )
  }
  return (
    <Notice tone={state === 'failed' || state === 'refused' ? 'bad' : 'warn'}>
      <b>{titles[state] ?? state}.</b> {reason}
      {again}
    </Notice>
  )
}

const titles: Readonly<Record<string, string>> = {
  waiting: 'It waits',
  refused: 'No node can take it',
  failed: 'It could not be started',
  loading: 'It is being loaded',
}

const phases: Record<Loading['state'], string> = {
  waiting: 'Waits for a node',
  reserved: 'About to start',
  installing: 'Installing its engine',
  staging: 'Fetching its files',
  loading: 'Loading into memory',
}

function phaseText({ state, node }: Loading): string {
  return `${phases[state] ?? state}${node === null ? '' : ` on ${node}`}`
}

function progressText({ progress, bytes_sent: done, total_bytes: total, eta_seconds: eta }: Loading): string {
  const bytes = total > 0 ? `${progress} %, ${bytesText(done)} of ${bytesText(total)}` : ''
  const left = eta === undefined ? '' : `${bytes === '' ? '' : ', '}about ${spanText(eta)} left`
  return `${bytes}${left}`
}
