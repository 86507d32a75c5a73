import type { ReactNode } from 'react'
import { Field } from '../../parts/field.tsx'
import field from '../../parts/field.module.css'
import { LIFETIMES, type Lifetime } from './lifetimes.ts'

export function LifetimeField({
  value,
  onChange,
}: {
  value: Lifetime
  onChange: (value: Lifetime) => void
}): ReactNode {
  return (
    <Field label="Works for">
      {(ids) => (
        <select
          {...ids}
          className={field['input']}
          value={value}
          onChange={({ target }) => onChange(target.value as Lifetime)}
        >
          {LIFETIMES.map((one) => (
            <option key={one.value} value={one.value}>
              {one.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
