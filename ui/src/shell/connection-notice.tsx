import type { ReactNode } from 'react'
import { useConnectionState } from '../live/use-live.ts'
import style from './connection-notice.module.css'

/** What is shown may be old: said at once, and gone by itself. */
export function ConnectionNotice(): ReactNode {
  const isLost = useConnectionState() === 'lost'
  return (
    <div role="status" aria-live="polite">
      {isLost && (
        <p className={style['lost']}>
          The frontend does not answer. What you see is how things were; this page goes on as soon as it is back.
        </p>
      )}
    </div>
  )
}
