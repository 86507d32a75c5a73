import type { ReactNode } from 'react'
import style from './rules-table.module.css'
import { pairsOf, pairText } from './selector-pairs.ts'

/** What nodes must have, whatever is stored. */
export function SelectorChips({ selector }: { selector: unknown }): ReactNode {
  const pairs = Object.entries(pairsOf(selector))
  if (pairs.length === 0) return <span className={style['any']}>Any node</span>
  return (
    <ul className={style['chips']}>
      {pairs.map(([key, text]) => (
        <li key={key} className={style['chip']}>
          {pairText(key, text)}
        </li>
      ))}
    </ul>
  )
}
