import type { ReactNode } from 'react'
import { agoText, exactText } from '../format/time.ts'
import { useNow } from '../live/use-now.ts'

/** How long ago something was; it goes on by itself. */
export function Ago({ at }: { at: number | null }): ReactNode {
  const nowMs = useNow()
  if (at === null) return 'never'
  return (
    <time dateTime={new Date(at).toISOString()} title={exactText(at)} className="figures">
      {agoText(at, nowMs)}
    </time>
  )
}
