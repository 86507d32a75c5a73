import { useQueryClient } from '@tanstack/react-query'
import { Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { useChange } from '../../api/use-change.ts'
import { IconButton } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'

/** Ends a key or a token for good, after asking. */
export function RevokeButton({
  by,
  listed,
  id,
  name,
  follows,
}: {
  by: 'revokeKey' | 'revokeToken'
  /** The call whose answer shows it. */
  listed: 'listKeys' | 'listTokens'
  id: string
  name: string
  /** What follows from it, for whoever is asked. */
  follows: string
}): ReactNode {
  const confirm = useConfirm()
  const queryClient = useQueryClient()
  const revoke = useChange(by, {
    done: `${name} no longer works.`,
    onDone: () => void queryClient.invalidateQueries({ queryKey: [listed] }),
  })
  const ask = async (): Promise<void> => {
    const isSure = await confirm({ title: `Revoke ${name}?`, text: follows, confirm: 'Revoke', isDanger: true })
    if (isSure) revoke.mutate({ params: { id } })
  }
  return <IconButton icon={Trash2} label={`Revoke ${name}`} busy={revoke.isPending} onClick={() => void ask()} />
}
