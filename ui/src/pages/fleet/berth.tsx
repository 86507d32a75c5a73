import type { ReactNode } from 'react'
import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { replicaTone } from '../../parts/state-pills.tsx'
import style from './berth.module.css'
import { progressOf } from './fleet-facts.ts'

/** One slot: free, or a replica in the colour of its state, filled as far as it is, with the requests it has. */
export function Berth({ replica, small = false }: { replica: ReplicaView | undefined; small?: boolean }): ReactNode {
  const size = small ? style['small'] : ''
  if (!replica)
    return (
      <span
        className={`${style['berth']} ${style['free']} ${size}`}
        role="img"
        aria-label="free slot"
        title="free slot"
      />
    )
  const progress = replica.state === 'ready' ? undefined : progressOf(replica)
  const text = spoken(replica, progress)
  return (
    <span
      className={`${style['berth']} ${style[replicaTone[replica.state] ?? 'idle']} ${size} ${progress === undefined ? '' : style['moving']}`}
      role="img"
      aria-label={text}
      title={text}
    >
      {progress !== undefined && <span className={style['progress']} style={{ width: `${100 * progress}%` }} />}
      {!small && replica.in_flight > 0 && <span className={style['count']}>{replica.in_flight}</span>}
    </span>
  )
}

function spoken(
  { model_name: name, replica_index: index, state, in_flight: count }: ReplicaView,
  progress?: number,
): string {
  const far = progress === undefined ? '' : ` ${Math.round(100 * progress)} %`
  return `${name} replica ${index}: ${state}${far}${count > 0 ? `, ${count} in flight` : ''}`
}
