import type { ReactNode } from 'react'
import { Field } from './field.tsx'
import fieldStyle from './field.module.css'
import style from './replica-input.module.css'

interface ReplicaInputProps {
  label: string
  value: number
  onChange: (value: number) => void
  presets: readonly { value: number; label: string }[]
  hint?: string
  error?: string | undefined
}

/** A number of replicas, typed or taken from the usual ones. */
export function ReplicaInput({ label, value, onChange, presets, hint, error }: ReplicaInputProps): ReactNode {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => (
        <div className={style['row']}>
          <input
            {...ids}
            type="number"
            min={0}
            className={fieldStyle['input']}
            value={value}
            onChange={({ target }) => onChange(Math.max(0, Math.trunc(Number(target.value)) || 0))}
          />
          <div className={style['presets']} role="group" aria-label={`${label}: usual numbers`}>
            {presets.map((preset) => (
              <button
                key={preset.value}
                type="button"
                className={style['preset']}
                aria-pressed={preset.value === value}
                onClick={() => onChange(preset.value)}
              >
                {preset.label}
              </button>
            ))}
          </div>
        </div>
      )}
    </Field>
  )
}
