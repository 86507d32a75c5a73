import type { ReactNode } from 'react'
import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { bytesText } from '../../format/bytes.ts'
import table from '../../parts/table.module.css'
import style from './node-replicas.module.css'
import { memoryOfReplica } from './replica-facts.ts'

const SOURCES: Record<NonNullable<ReplicaView['claim']>['source'], string> = {
  explicit: 'as the model says',
  learned: 'learned',
  computed: 'estimated',
  unknown: 'guessed',
  measured: 'measured',
}

/** What was measured, and what is held for it. */
export function ReplicaMemory({ replica }: { replica: ReplicaView }): ReactNode {
  const { held, measured } = memoryOfReplica(replica)
  if (held === null && measured === null) return '–'
  const heldText = held === null ? '' : `${bytesText(held)} ${SOURCES[replica.claim!.source]}`
  if (measured === null) return <span className={`${style['memory']} figures`}>{heldText}</span>
  return (
    <span className={`${style['memory']} figures`}>
      {bytesText(measured)} measured
      {held !== null && replica.claim!.source !== 'measured' && <span className={table['sub']}>{heldText}</span>}
    </span>
  )
}
