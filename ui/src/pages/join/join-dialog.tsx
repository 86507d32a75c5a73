import { useState, type ReactNode } from 'react'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { Failure, Notice } from '../../parts/notice.tsx'
import { Spinner } from '../../parts/spinner.tsx'
import { addressProblem, isLoopbackAddress } from './join-command.ts'
import style from './join-dialog.module.css'
import { JoinLines } from './join-lines.tsx'
import { Newcomer } from './newcomer.tsx'
import type { JoinToken } from './use-join-token.ts'

interface JoinDialogProps {
  open: boolean
  onClose: () => void
  token: JoinToken
}

/** What to run on another machine so that it becomes a node, and the node as it comes. */
export function JoinDialog({ open, onClose, token }: JoinDialogProps): ReactNode {
  const [address, setAddress] = useState(() => location.origin)
  const problem = addressProblem(address)
  const { created, error, make } = token
  return (
    <Dialog
      wide
      open={open}
      onClose={onClose}
      title="Join a node"
      description="Run this on the machine that is to become a node. It needs Flotilla, and a way to reach this frontend."
      actions={<Button onClick={onClose}>Close</Button>}
    >
      <div className={style['body']}>
        {!token.isUsed && (
          <TextField
            label="Address of this frontend, as the other machine reaches it"
            type="url"
            value={address}
            onChange={setAddress}
            error={problem}
          />
        )}
        {problem === undefined && !token.isUsed && isLoopbackAddress(address) && <LoopbackNotice address={address} />}
        {error && <Failure error={error} onRetry={make} />}
        {!created && !error && <Spinner label="Making a join token…" />}
        {created && (
          <>
            {problem === undefined && !token.isUsed && <JoinLines address={address} created={created} />}
            <Newcomer key={created.id} token={created} onJoined={token.wasUsed} onAgain={make} />
          </>
        )}
      </div>
    </Dialog>
  )
}

function LoopbackNotice({ address }: { address: string }): ReactNode {
  const port = new URL(address).port || '80'
  return (
    <Notice tone="warn">
      Other machines cannot reach a loopback address: with it the command works on this machine only. Write the name or
      address of the frontend's machine here, and start the frontend with <code>--listen 0.0.0.0:{port}</code>.
    </Notice>
  )
}
