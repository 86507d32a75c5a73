import { Search } from 'lucide-react'
import type { ReactNode } from 'react'
import fieldStyle from './field.module.css'
import style from './search-field.module.css'

/** Narrows a list down while one types. */
export function SearchField({
  label,
  placeholder = label,
  value,
  onChange,
}: {
  label: string
  /** What can be searched for, if that is more than the label says. */
  placeholder?: string
  value: string
  onChange: (value: string) => void
}): ReactNode {
  return (
    <div className={style['search']}>
      <Search size={15} aria-hidden />
      <input
        type="search"
        className={fieldStyle['input']}
        aria-label={label}
        placeholder={placeholder}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        autoComplete="off"
        spellCheck={false}
      />
    </div>
  )
}
