import { useState, type FormEvent, type ReactNode } from 'react'
import type { BackendView, NodeView } from '../../../../../src/api/admin/schemas.ts'
import { useChange } from '../../../api/use-change.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { TextField } from '../../../parts/field.tsx'
import { Failure } from '../../../parts/notice.tsx'
import { installBody } from './engine-facts.ts'
import style from './node-engines.module.css'

interface InstallDialogProps {
  node: NodeView
  engine: string
  open: boolean
  onClose: () => void
  onAsked: (engine: BackendView) => void
}

/** Where an engine comes from that no replica brings along by itself: what its profile says, or an archive. */
export function InstallDialog({ node, engine, open, onClose, onAsked }: InstallDialogProps): ReactNode {
  const [url, setUrl] = useState('')
  const [sha256, setSha256] = useState('')
  const install = useChange('installBackend', {
    done: `Install of ${engine} on ${node.name} was dispatched. The list shows how far it is.`,
    onDone: (asked) => {
      onAsked(asked)
      close()
    },
    isQuiet: () => true,
  })
  const close = (): void => {
    install.reset()
    onClose()
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    install.mutate({ params: { id: node.id }, body: installBody(engine, url, sha256) })
  }
  return (
    <Dialog
      open={open}
      onClose={close}
      title={`Install ${engine} on ${node.name}`}
      description="With both fields empty it is installed as its profile says, if that says how."
    >
      <form className={style['form']} onSubmit={submit}>
        <TextField label="Archive" placeholder="https://…" value={url} onChange={setUrl} />
        <TextField
          label="SHA-256 of the archive"
          value={sha256}
          onChange={setSha256}
          hint="64 hexadecimal digits, so that the node runs what you mean. sha256sum prints them."
        />
        {install.error && <Failure error={install.error} />}
        <div className={style['buttons']}>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" tone="primary" busy={install.isPending}>
            Install
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
