import type { ReactNode } from 'react'
import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import table from '../../parts/table.module.css'
import style from './node-replicas.module.css'
import { progressText, shareOf } from './replica-facts.ts'

/** How far something has come with its files. */
export function Progress({
  progress,
  label,
}: {
  progress: NonNullable<ReplicaView['progress']>
  label: string
}): ReactNode {
  const share = shareOf(progress)
  const text = progressText(progress)
  if (share === undefined) return text === '' ? null : <span className={table['sub']}>{text}</span>
  const percent = Math.floor(100 * share)
  return (
    <div className={style['progress']}>
      <div
        className={style['bar']}
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
      >
        <span style={{ width: `${percent}%` }} />
      </div>
      <span className={`${table['sub']} figures`}>{text}</span>
    </div>
  )
}
