import { ChevronRight } from 'lucide-react'
import { useId, useState, type ReactNode } from 'react'
import style from './disclosure.module.css'

/** Closed until somebody wants it; what is inside is not on the page before. */
export function Disclosure({
  title,
  children,
  defaultOpen = false,
}: {
  title: ReactNode
  children: ReactNode
  defaultOpen?: boolean
}): ReactNode {
  const [isOpen, setOpen] = useState(defaultOpen)
  const id = useId()
  return (
    <section className={style['disclosure']}>
      <button
        type="button"
        className={style['trigger']}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        <ChevronRight size={16} aria-hidden className={style['chevron']} />
        {title}
      </button>
      {isOpen && (
        <div id={id} className={style['panel']}>
          {children}
        </div>
      )}
    </section>
  )
}
