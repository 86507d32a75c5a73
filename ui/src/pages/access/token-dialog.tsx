import { useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent, type ReactNode } from 'react'
import { useChange } from '../../api/use-change.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import style from './access.module.css'
import { LifetimeField } from './lifetime-field.tsx'
import { expiryOf, type Lifetime } from './lifetimes.ts'
import { ShownOnce } from './shown-once.tsx'

const BLANK = { name: '', uses: '', lifetime: '86400' as Lifetime }

/** Makes a join token, and then shows it: only this once. */
export function TokenDialog({ open, onClose }: { open: boolean; onClose: () => void }): ReactNode {
  const [form, setForm] = useState(BLANK)
  const queryClient = useQueryClient()
  const create = useChange('createToken', {
    done: ({ name }) => `${name} is ready to be used.`,
    onDone: () => void queryClient.invalidateQueries({ queryKey: ['listTokens'] }),
    isQuiet: () => true,
  })
  const close = (): void => {
    onClose()
    create.reset()
    setForm(BLANK)
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const uses = form.uses.trim() === '' ? {} : { max_uses: Number(form.uses) }
    create.mutate({ body: { name: form.name.trim(), ...uses, ...expiryOf(form.lifetime) } })
  }
  if (create.data) {
    const { name, token } = create.data
    return <ShownOnce title={`The token ${name}`} label="Token" text={token} onClose={close} />
  }
  return (
    <Dialog open={open} onClose={close} title="New join token">
      <form className={style['form']} onSubmit={submit}>
        <TextField
          label="What it is for"
          value={form.name}
          onChange={(name) => setForm({ ...form, name })}
          placeholder="machines of the lab"
          error={create.error?.message}
          autoFocus
        />
        <TextField
          label="How many machines"
          type="number"
          min={1}
          value={form.uses}
          onChange={(uses) => setForm({ ...form, uses })}
          hint="Empty for any number."
        />
        <LifetimeField value={form.lifetime} onChange={(lifetime) => setForm({ ...form, lifetime })} />
        <Button tone="primary" type="submit" busy={create.isPending} disabled={form.name.trim() === ''}>
          Make the token
        </Button>
      </form>
    </Dialog>
  )
}
