import { ChevronRight } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'
import { Pill } from '../../parts/pill.tsx'
import type { Reason } from './reason.ts'
import style from './reason-tree.module.css'

/** An explanation, from the answer to its reasons. */
export function ReasonTree({ reasons }: { reasons: readonly Reason[] }): ReactNode {
  return (
    <ul className={style['tree']}>
      {reasons.map((reason, i) => (
        <Branch key={i} reason={reason} />
      ))}
    </ul>
  )
}

function Branch({ reason: { text, verdict, to, children = [], isFolded = false } }: { reason: Reason }): ReactNode {
  const [isOpen, setOpen] = useState(!isFolded)
  // A name with one plain reason is one line.
  const [only, ...others] = children
  const isOneLine = to !== undefined && only !== undefined && others.length === 0 && isPlain(only)
  const below = isOneLine ? [] : children
  const said = (
    <>
      {to === undefined ? text : <Link href={to}>{text}</Link>}
      {verdict && <Pill tone={verdict.tone}>{verdict.text}</Pill>}
      {isOneLine && <span className={style['reason']}>{only.text}</span>}
    </>
  )
  return (
    <li>
      <div className={style['said']}>
        {below.length === 0 ? (
          <span className={style['leaf']} aria-hidden />
        ) : (
          <button
            type="button"
            className={style['fold']}
            aria-expanded={isOpen}
            aria-label={`Reasons: ${text}`}
            onClick={() => setOpen(!isOpen)}
          >
            <ChevronRight size={15} aria-hidden />
          </button>
        )}
        <span className={style['text']}>{said}</span>
      </div>
      {isOpen && below.length > 0 && <ReasonTree reasons={below} />}
    </li>
  )
}

function isPlain({ verdict, to, children = [] }: Reason): boolean {
  return verdict === undefined && to === undefined && children.length === 0
}
