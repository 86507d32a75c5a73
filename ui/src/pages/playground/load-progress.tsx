import type { ReactNode } from 'react'
import { spanText } from '../../format/time.ts'
import { useReplicas } from '../../live/use-live.ts'
import { Spinner } from '../../parts/spinner.tsx'
import type { ChatPart } from './chat-stream.ts'
import style from './load-progress.module.css'

const PHASES: Record<string, string> = {
  waiting: 'waits for a place',
  reserved: 'has a place',
  installing: 'engine is being installed',
  staging: 'files are being fetched',
  loading: 'engine is loading it',
}

/** How far a model is that was asked for: its phase, where, and how much longer. The answer follows by itself. */
export function LoadProgress({
  model,
  loading: { state, node, percent },
}: {
  model: string
  loading: Extract<ChatPart, { kind: 'loading' }>
}): ReactNode {
  const left = useSecondsLeft(model)
  const text = `${model}: ${PHASES[state] ?? state}${node === null ? '' : ` on ${node}`}`
  return (
    <div className={style['load']} role="status">
      <p>
        <Spinner /> {text}
        {percent > 0 && ` · ${percent} %`}
        {left !== undefined && ` · about ${spanText(left)} left`}
      </p>
      {percent > 0 && <progress value={percent} max={100} aria-label={`${model} is being loaded`} />}
    </div>
  )
}

/** From what the live stream tells of the files; undefined while nobody knows. */
function useSecondsLeft(model: string): number | undefined {
  const replica = useReplicas().find(({ model_name: name, progress }) => name === model && progress !== null)
  const progress = replica?.progress
  if (!progress?.total_bytes || !progress.bytes_per_s) return undefined
  return (progress.total_bytes - progress.done_bytes) / progress.bytes_per_s
}
