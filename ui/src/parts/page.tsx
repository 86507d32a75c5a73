import { useEffect, type ReactNode } from 'react'
import style from './page.module.css'

interface PageProps {
  title: string
  /** Instead of the title as text, e.g. with pills beside it. */
  heading?: ReactNode
  /** One line under the title. */
  about?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

/** What every page is: a heading, what can be done, and the rest. */
export function Page({ title, heading, about, actions, children }: PageProps): ReactNode {
  useEffect(() => {
    document.title = `${title} · Flotilla`
  }, [title])
  return (
    <div className={style['page']}>
      <header className={style['head']}>
        <div className={style['titles']}>
          <h1>{heading ?? title}</h1>
          {about !== undefined && <div className={style['about']}>{about}</div>}
        </div>
        {actions !== undefined && <div className={style['actions']}>{actions}</div>}
      </header>
      {children}
    </div>
  )
}

/** A card with a heading. */
export function Panel({
  title,
  actions,
  children,
  flush,
}: {
  title?: ReactNode
  actions?: ReactNode
  children: ReactNode
  /** Its content reaches the edges, as a table does. */
  flush?: boolean
}): ReactNode {
  return (
    <section className={`${style['panel']} ${flush ? style['flush'] : ''}`}>
      {(title !== undefined || actions !== undefined) && (
        <header className={style['panelHead']}>
          {title !== undefined && <h2>{title}</h2>}
          {actions !== undefined && <div className={style['actions']}>{actions}</div>}
        </header>
      )}
      {children}
    </section>
  )
}
