import type { ReactNode } from 'react'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { bytesText, usedOf } from '../../format/bytes.ts'
import { Hint } from '../../parts/hint.tsx'
import { MemoryBar } from '../../parts/memory-bar.tsx'
import style from './node-memory-figures.module.css'
import { memoryOf } from './roster/roster.ts'

/** The memory that counts on a node: in use, held and whole. */
export function NodeMemoryFigures({ node }: { node: NodeView }): ReactNode {
  const memory = memoryOf(node)
  if (!memory) return '–'
  const { label, total, available, reserved } = memory
  return (
    <div className={style['memory']}>
      <div className={`${style['text']} figures`}>
        <span className={style['kind']}>{label}</span>
        <span>{usedOf(total, available)}</span>
        {reserved > 0 && (
          <Hint text="Held for replicas that have been placed here and do not use it yet.">
            <span className={style['reserved']}>+{bytesText(reserved)} reserved</span>
          </Hint>
        )}
      </div>
      <MemoryBar bare label={label} total={total} available={available} claimed={reserved} />
    </div>
  )
}
