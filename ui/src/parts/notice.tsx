import { CircleAlert, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import style from './notice.module.css'

const ICONS = { info: Info, warn: TriangleAlert, bad: CircleAlert } as const

/** Something to know, in the page. */
export function Notice({
  tone = 'info',
  children,
  action,
}: {
  tone?: keyof typeof ICONS
  children: ReactNode
  action?: ReactNode
}): ReactNode {
  const Icon = ICONS[tone]
  return (
    <div className={`${style['notice']} ${style[tone]}`} role={tone === 'info' ? undefined : 'alert'}>
      <Icon size={18} aria-hidden />
      <div className={style['text']}>{children}</div>
      {action}
    </div>
  )
}

/** A part of a page could not be had; the rest of it stays. */
export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }): ReactNode {
  return (
    <Notice tone="bad" action={onRetry && <Button onClick={onRetry}>Try again</Button>}>
      {error.message}
    </Notice>
  )
}

/** Nothing there, and what to do about it. */
export function Empty({ children, action }: { children: ReactNode; action?: ReactNode }): ReactNode {
  return (
    <div className={style['empty']}>
      <div>{children}</div>
      {action}
    </div>
  )
}
