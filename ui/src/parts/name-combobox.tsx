import { Autocomplete } from '@base-ui/react/autocomplete'
import type { ReactNode } from 'react'
import { Field } from './field.tsx'
import fieldStyle from './field.module.css'
import style from './name-combobox.module.css'

interface NameComboboxProps {
  label: string
  value: string
  onChange: (value: string) => void
  names: readonly string[]
  /** Said when nothing that is known matches: what is typed counts all the same. */
  nothing: string
  hint?: ReactNode
  error?: string | undefined
  readOnly?: boolean
}

/** A name out of those that are known, found by typing, or any other. */
export function NameCombobox({
  label,
  value,
  onChange,
  names,
  nothing,
  hint,
  error,
  readOnly = false,
}: NameComboboxProps): ReactNode {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => (
        <Autocomplete.Root
          items={names}
          value={value}
          onValueChange={onChange}
          readOnly={readOnly}
          openOnInputClick
          autoHighlight
        >
          <Autocomplete.Input
            {...ids}
            className={fieldStyle['input']}
            spellCheck={false}
            // Enter takes a name; the form around it must not be sent by that.
            onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
          />
          <Autocomplete.Portal>
            <Autocomplete.Positioner className={style['positioner']} sideOffset={4}>
              <Autocomplete.Popup className={style['popup']}>
                <Autocomplete.Empty>
                  <p className={style['empty']}>{nothing}</p>
                </Autocomplete.Empty>
                <Autocomplete.List className={style['list']}>
                  {(name: string) => (
                    <Autocomplete.Item key={name} value={name} className={style['item']}>
                      {name}
                    </Autocomplete.Item>
                  )}
                </Autocomplete.List>
              </Autocomplete.Popup>
            </Autocomplete.Positioner>
          </Autocomplete.Portal>
        </Autocomplete.Root>
      )}
    </Field>
  )
}
