import { Plus, X } from 'lucide-react'
import { useId, useState, type KeyboardEvent, type ReactNode } from 'react'
import { Button } from './button.tsx'
import fieldStyle from './field.module.css'
import style from './key-value-chips.module.css'

interface KeyValueChipsProps {
  /** What the pairs are, for screen readers: `Labels`, `Node selector`. */
  label: string
  pairs: Readonly<Record<string, string>>
  onAdd: (key: string, value: string) => void
  onRemove: (key: string) => void
  /** Known keys with their known values, suggested while one types. */
  known?: Readonly<Record<string, readonly string[]>>
  /** How a pair is shown; `key=value` unless told. */
  textOf?: (key: string, value: string) => string
  /** Said beside single pairs, by key: where they come from, say. */
  notes?: Readonly<Record<string, string>>
  /** Keys of pairs that cannot be removed here. */
  fixed?: readonly string[]
  disabled?: boolean
}

/** Pairs that are shown, added and removed. The pairs themselves are the parent's: nothing of them is kept here. */
export function KeyValueChips({
  label,
  pairs,
  onAdd,
  onRemove,
  known = {},
  textOf = (key, value) => `${key}=${value}`,
  notes = {},
  fixed = [],
  disabled,
}: KeyValueChipsProps): ReactNode {
  const [key, setKey] = useState('')
  const [value, setValue] = useState('')
  const id = useId()
  const entries = Object.entries(pairs)
  const canAdd = key.trim() !== '' && !disabled
  const add = (): void => {
    if (!canAdd) return
    onAdd(key.trim(), value.trim())
    setKey('')
    setValue('')
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return
    // The form around it must not be sent.
    event.preventDefault()
    add()
  }
  return (
    <div role="group" aria-label={label} className={style['pairs']}>
      {entries.length > 0 && (
        <ul className={style['chips']}>
          {entries.map(([name, text]) => (
            <li key={name} className={style['chip']}>
              <span>{textOf(name, text)}</span>
              {Object.hasOwn(notes, name) && <span className={style['note']}>{notes[name]}</span>}
              {!fixed.includes(name) && (
                <button type="button" aria-label={`Remove ${name}`} onClick={() => onRemove(name)} disabled={disabled}>
                  <X size={12} aria-hidden />
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      <div className={style['inputs']}>
        <input
          className={fieldStyle['input']}
          aria-label={`${label}: key`}
          placeholder="key"
          value={key}
          list={`${id}-keys`}
          onChange={({ target }) => setKey(target.value)}
          onKeyDown={onKeyDown}
          disabled={disabled}
          autoComplete="off"
        />
        <input
          className={fieldStyle['input']}
          aria-label={`${label}: value`}
          placeholder="value"
          value={value}
          list={`${id}-values`}
          onChange={({ target }) => setValue(target.value)}
          onKeyDown={onKeyDown}
          disabled={disabled}
          autoComplete="off"
        />
        <Button icon={Plus} onClick={add} disabled={!canAdd}>
          Add
        </Button>
      </div>
      <datalist id={`${id}-keys`}>
        {Object.keys(known).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <datalist id={`${id}-values`}>
        {(known[key.trim()] ?? []).map((text) => (
          <option key={text} value={text} />
        ))}
      </datalist>
    </div>
  )
}
