import { Plus } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { Button, type Tone } from '../../parts/button.tsx'
import { JoinDialog } from './join-dialog.tsx'
import { useJoinToken } from './use-join-token.ts'

/** Opens the dialog that makes another machine a node. */
export function JoinButton({ tone = 'primary' }: { tone?: Tone }): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const token = useJoinToken()
  const open = (): void => {
    setOpen(true)
    token.make()
  }
  const close = (): void => {
    setOpen(false)
    token.giveUp()
  }
  return (
    <>
      <Button tone={tone} icon={Plus} onClick={open}>
        Join a node
      </Button>
      <JoinDialog open={isOpen} onClose={close} token={token} />
    </>
  )
}
