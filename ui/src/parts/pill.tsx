import type { LucideIcon } from 'lucide-react'
import type { ComponentPropsWithRef, ReactNode } from 'react'
import style from './pill.module.css'

export type PillTone = 'ok' | 'warn' | 'bad' | 'busy' | 'idle' | 'accent' | 'outline'

interface PillProps extends ComponentPropsWithRef<'span'> {
  tone?: PillTone
  icon?: LucideIcon
  dot?: boolean
}

export function Pill({ tone = 'idle', icon: Icon, dot, children, ...rest }: PillProps): ReactNode {
  return (
    <span {...rest} className={`${style['pill']} ${style[tone]}`}>
      {dot && <span className={style['dot']} aria-hidden />}
      {Icon && <Icon size={13} aria-hidden />}
      {children}
    </span>
  )
}
