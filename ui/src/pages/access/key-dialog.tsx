import { useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent, type ReactNode } from 'react'
import type { KeyScope } from '../../../../src/api/key-scope.ts'
import { useChange } from '../../api/use-change.ts'
import { useModels } from '../../live/use-live.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { Segmented } from '../../parts/segmented.tsx'
import style from './access.module.css'
import { LifetimeField } from './lifetime-field.tsx'
import { expiryOf, modelsOf, type Lifetime } from './lifetimes.ts'
import { ShownOnce } from './shown-once.tsx'

const BLANK = { name: '', scope: 'inference' as KeyScope, models: '', lifetime: '2592000' as Lifetime }

/** Makes a key, and then shows it: only this once. */
export function KeyDialog({ open, onClose }: { open: boolean; onClose: () => void }): ReactNode {
  const [form, setForm] = useState(BLANK)
  const queryClient = useQueryClient()
  const create = useChange('createKey', {
    done: ({ name }) => `${name} is ready to be used.`,
    onDone: () => void queryClient.invalidateQueries({ queryKey: ['listKeys'] }),
    isQuiet: () => true,
  })
  const known = useModels().map(({ name }) => name)
  const close = (): void => {
    onClose()
    create.reset()
    setForm(BLANK)
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const { name, scope, models, lifetime } = form
    create.mutate({ body: { name: name.trim(), scopes: [scope], ...modelsOf(models), ...expiryOf(lifetime) } })
  }
  if (create.data) {
    const { name, key } = create.data
    return <ShownOnce title={`The key ${name}`} label="Key" text={key} onClose={close} />
  }
  return (
    <Dialog open={open} onClose={close} title="New API key">
      <form className={style['form']} onSubmit={submit}>
        <TextField
          label="What it is for"
          value={form.name}
          onChange={(name) => setForm({ ...form, name })}
          placeholder="notebook of Ada"
          error={create.error?.message}
          autoFocus
        />
        <Segmented
          label="What it may do"
          value={form.scope}
          onChange={(scope) => setForm({ ...form, scope })}
          options={[
            { value: 'inference', label: 'Ask models' },
            { value: 'read', label: 'Look' },
            { value: 'admin', label: 'Everything' },
          ]}
        />
        {form.scope === 'inference' && (
          <TextField
            label="Only these models"
            value={form.models}
            onChange={(models) => setForm({ ...form, models })}
            hint={`Names with commas between them; empty for all.${known.length > 0 ? ` There are: ${known.slice(0, 8).join(', ')}.` : ''}`}
          />
        )}
        <LifetimeField value={form.lifetime} onChange={(lifetime) => setForm({ ...form, lifetime })} />
        <Button tone="primary" type="submit" busy={create.isPending} disabled={form.name.trim() === ''}>
          Make the key
        </Button>
      </form>
    </Dialog>
  )
}
