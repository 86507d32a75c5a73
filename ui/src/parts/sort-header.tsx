import { ArrowDown, ArrowUp } from 'lucide-react'
import type { ReactNode } from 'react'
import style from './sort-header.module.css'
import table from './table.module.css'

/** The heading of a column that a table can be sorted by. */
export function SortHeader({
  children,
  direction,
  onSort,
  isNumber,
}: {
  children: ReactNode
  /** Undefined when the table is sorted by another column. */
  direction: 'ascending' | 'descending' | undefined
  onSort: () => void
  isNumber?: boolean
}): ReactNode {
  const Icon = direction === 'descending' ? ArrowDown : ArrowUp
  return (
    <th scope="col" aria-sort={direction ?? 'none'} className={isNumber ? table['number'] : undefined}>
      <button type="button" className={style['sort']} data-sorted={direction !== undefined} onClick={onSort}>
        {children}
        <Icon size={12} aria-hidden />
      </button>
    </th>
  )
}
