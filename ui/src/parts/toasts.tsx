import { CircleCheck, CircleX, X } from 'lucide-react'
import { useEffect, useSyncExternalStore, type ReactNode } from 'react'
import style from './toasts.module.css'

interface Toast {
  id: number
  kind: 'done' | 'failed'
  text: string
}

const DONE_MS = 4000
/** Longer: it says what to do. */
const FAILED_MS = 12_000
const MOST_SHOWN = 4

let toasts: readonly Toast[] = []
let nextId = 0
const listeners = new Set<() => void>()

function set(shown: readonly Toast[]): void {
  toasts = shown
  for (const listener of listeners) listener()
}

function add(kind: Toast['kind'], text: string): void {
  nextId += 1
  // What is told again is shown once.
  set([...toasts.filter((toast) => toast.text !== text), { id: nextId, kind, text }].slice(-MOST_SHOWN))
}

/** Tells how something went, wherever on the page one is. */
export const tell = {
  done: (text: string): void => add('done', text),
  failed: (text: string): void => add('failed', text),
}

export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <section aria-label="Notifications" className={style['viewport']}>
      {/* Two regions that are always there: what is put into them is read out, failures at once. Dialogs hide all but live ones. */}
      <div role="status" aria-live="polite">
        {shown.map((toast) => toast.kind === 'done' && <Shown key={toast.id} toast={toast} />)}
      </div>
      <div role="alert" aria-live="assertive">
        {shown.map((toast) => toast.kind === 'failed' && <Shown key={toast.id} toast={toast} />)}
      </div>
    </section>
  )
}

function Shown({ toast: { id, kind, text } }: { toast: Toast }): ReactNode {
  const dismiss = (): void => set(toasts.filter((toast) => toast.id !== id))
  useEffect(() => {
    const timer = setTimeout(
      () => set(toasts.filter((toast) => toast.id !== id)),
      kind === 'done' ? DONE_MS : FAILED_MS,
    )
    return () => clearTimeout(timer)
  }, [id, kind])
  const Icon = kind === 'failed' ? CircleX : CircleCheck
  return (
    <div className={`${style['toast']} ${style[kind]}`}>
      <Icon size={18} aria-hidden />
      <p className={style['text']}>{text}</p>
      <button type="button" className={style['close']} aria-label="Dismiss" onClick={dismiss}>
        <X size={15} aria-hidden />
      </button>
    </div>
  )
}
