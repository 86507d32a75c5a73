import { Check, Pencil, X } from 'lucide-react'
import { useEffect, useId, useRef, useState, type FormEvent, type InputHTMLAttributes, type ReactNode } from 'react'
import { Button, IconButton } from '../../../parts/button.tsx'
import fieldStyle from '../../../parts/field.module.css'
import style from './inline-editor.module.css'

interface InlineEditorProps {
  /** What is edited, for screen readers and the pencil. */
  label: string
  /** As it is now, for reading. */
  children: ReactNode
  /** As it is now, for typing. */
  start: string
  input: InputHTMLAttributes<HTMLInputElement>
  isBusy: boolean
  /** What was refused, and why. */
  error?: string | undefined
  /** Answers whether it is done; else it stays open with what was typed. */
  onSave: (typed: string) => Promise<boolean>
  onCancel?: () => void
  /** Beside the pencil, while nothing is edited. */
  actions?: ReactNode
}

/** A value that a pencil turns into an input. Enter saves, Escape puts it back. */
export function InlineEditor(props: InlineEditorProps): ReactNode {
  const [typed, setTyped] = useState<string>()
  const pencil = useRef<HTMLButtonElement>(null)
  const wasOpen = useRef(false)
  const isOpen = typed !== undefined
  useEffect(() => {
    // Whoever used the keyboard goes on where it began.
    if (wasOpen.current && !isOpen) pencil.current?.focus()
    wasOpen.current = isOpen
  }, [isOpen])
  if (isOpen) return <OpenEditor {...props} typed={typed} setTyped={setTyped} />
  return (
    <div className={style['line']}>
      {props.children}
      <IconButton ref={pencil} icon={Pencil} label={`Edit ${props.label}`} onClick={() => setTyped(props.start)} />
      {props.actions}
    </div>
  )
}

function OpenEditor({
  label,
  input,
  isBusy,
  error,
  onSave,
  onCancel,
  typed,
  setTyped,
}: InlineEditorProps & { typed: string; setTyped: (typed: string | undefined) => void }): ReactNode {
  const id = useId()
  const cancel = (): void => {
    onCancel?.()
    setTyped(undefined)
  }
  const save = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    if (await onSave(typed)) setTyped(undefined)
  }
  return (
    <form
      className={style['form']}
      // What is wrong is said by us, not by the browser.
      noValidate
      onSubmit={(event) => void save(event)}
      onKeyDown={({ key }) => key === 'Escape' && !isBusy && cancel()}
    >
      <div className={style['line']}>
        <input
          {...input}
          autoFocus
          className={fieldStyle['input']}
          aria-label={label}
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? undefined : id}
          value={typed}
          disabled={isBusy}
          onChange={({ target }) => setTyped(target.value)}
          onFocus={({ target }) => target.select()}
          autoComplete="off"
        />
        <Button type="submit" tone="primary" icon={Check} busy={isBusy}>
          Save
        </Button>
        <Button icon={X} disabled={isBusy} onClick={cancel}>
          Cancel
        </Button>
      </div>
      {error !== undefined && (
        <p id={id} role="alert" className={fieldStyle['error']}>
          {error}
        </p>
      )}
    </form>
  )
}
