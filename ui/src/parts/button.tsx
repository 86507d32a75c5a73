import type { LucideIcon } from 'lucide-react'
import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react'
import { Link } from 'wouter'
import style from './button.module.css'
import { Spinner } from './spinner.tsx'
import { Hint } from './hint.tsx'

export type Tone = 'primary' | 'plain' | 'danger' | 'quiet'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  tone?: Tone
  icon?: LucideIcon
  /** It is being done: a spinner, and no second click. */
  busy?: boolean
  small?: boolean
  ref?: Ref<HTMLButtonElement>
}

export function Button({
  tone = 'plain',
  icon: Icon,
  busy,
  small,
  children,
  disabled,
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      className={`${style['button']} ${style[tone]} ${small ? style['small'] : ''}`}
    >
      {busy ? <Spinner /> : Icon && <Icon size={small ? 14 : 16} aria-hidden />}
      {children}
    </button>
  )
}

interface IconButtonProps extends Omit<ButtonProps, 'children'> {
  /** What it does: its name for screen readers, and its hint. */
  label: string
  icon: LucideIcon
}

/** A button that is only an icon. */
export function IconButton({ label, icon: Icon, busy, disabled, tone = 'quiet', ...rest }: IconButtonProps): ReactNode {
  return (
    <Hint text={label}>
      <button
        type="button"
        {...rest}
        aria-label={label}
        disabled={disabled || busy}
        className={`${style['button']} ${style[tone]} ${style['icon']}`}
      >
        {busy ? <Spinner /> : <Icon size={16} aria-hidden />}
      </button>
    </Hint>
  )
}

/** A link that looks like a button. */
export function ButtonLink({
  to,
  tone = 'plain',
  icon: Icon,
  small,
  children,
}: {
  to: string
  tone?: Tone
  icon?: LucideIcon
  small?: boolean
  children: ReactNode
}): ReactNode {
  return (
    <Link href={to} className={`${style['button']} ${style[tone]} ${small ? style['small'] : ''}`}>
      {Icon && <Icon size={small ? 14 : 16} aria-hidden />}
      {children}
    </Link>
  )
}
