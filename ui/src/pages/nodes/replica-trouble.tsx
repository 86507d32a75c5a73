import type { ReactNode } from 'react'
import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import style from './node-replicas.module.css'
import { troubleOf } from './replica-facts.ts'

/** Why a replica failed, and the last that its engine said. */
export function ReplicaTrouble({ replica }: { replica: ReplicaView }): ReactNode {
  const { what, exit, lines } = troubleOf(replica)
  return (
    <div className={style['trouble']}>
      <p>{what}</p>
      {exit !== undefined && <p>{exit}</p>}
      {lines.length > 0 && <pre>{lines.join('\n')}</pre>}
    </div>
  )
}
