import { Radio } from '@base-ui/react/radio'
import { RadioGroup } from '@base-ui/react/radio-group'
import type { ReactNode } from 'react'
import style from './segmented.module.css'

interface SegmentedProps<T extends string> {
  /** The name of the group for screen readers. */
  label: string
  value: T
  onChange: (value: T) => void
  options: readonly { value: T; label: ReactNode; disabled?: boolean }[]
}

/** One of a few, side by side. Arrow keys move. */
export function Segmented<T extends string>({ label, value, onChange, options }: SegmentedProps<T>): ReactNode {
  return (
    <RadioGroup aria-label={label} value={value} onValueChange={onChange} className={style['group']}>
      {options.map((option) => (
        <label key={option.value} className={style['segment']}>
          <Radio.Root value={option.value} disabled={option.disabled ?? false} className={style['radio']} />
          <span className={style['text']}>{option.label}</span>
        </label>
      ))}
    </RadioGroup>
  )
}
