import type { ReactNode } from 'react'
import style from './spinner.module.css'

export function Spinner({ label }: { label?: string }): ReactNode {
  if (label === undefined) return <span className={style['spinner']} aria-hidden />
  return (
    <p className={style['centred']} role="status">
      <span className={style['spinner']} aria-hidden /> {label}
    </p>
  )
}
