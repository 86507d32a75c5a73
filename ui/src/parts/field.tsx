import { useId, type InputHTMLAttributes, type ReactNode } from 'react'
import style from './field.module.css'

interface FieldProps {
  label: string
  hint?: ReactNode
  /** What is wrong with what was typed, and how to put it right. */
  error?: string | undefined
  children: (ids: { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean }) => ReactNode
}

/** A label, what it labels, and what there is to say about it. */
export function Field({ label, hint, error, children }: FieldProps): ReactNode {
  const id = useId()
  const says = error ?? hint
  return (
    <div className={style['field']}>
      <label htmlFor={id} className={style['label']}>
        {label}
      </label>
      {children({ id, 'aria-describedby': says ? `${id}-says` : undefined, 'aria-invalid': error !== undefined })}
      {says && (
        <p id={`${id}-says`} className={error === undefined ? style['hint'] : style['error']}>
          {says}
        </p>
      )}
    </div>
  )
}

type TextFieldProps = Omit<FieldProps, 'children'> &
  Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'> & { onChange: (value: string) => void }

export function TextField({ label, hint, error, onChange, ...input }: TextFieldProps): ReactNode {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => (
        <input
          {...input}
          {...ids}
          className={style['input']}
          onChange={({ target }) => onChange(target.value)}
          autoComplete="off"
          spellCheck={false}
        />
      )}
    </Field>
  )
}
