import { Check } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { call } from '../../api/call.ts'
import { countText } from '../../format/figures.ts'
import { Button } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { Notice } from '../../parts/notice.tsx'
import { tell } from '../../parts/toasts.tsx'
import style from './pending-notice.module.css'

const MOST_NAMED = 3

/** Several nodes that wait are approved together; a single one has its button in its row. */
export function PendingNotice({ nodes }: { nodes: readonly NodeView[] }): ReactNode {
  const [isBusy, setBusy] = useState(false)
  const confirm = useConfirm()
  const pending = nodes.filter(({ approved }) => !approved)
  if (pending.length < 2) return null
  const names = pending.slice(0, MOST_NAMED).map(({ name }) => name)
  const more = pending.length - names.length

  const approveAll = async (): Promise<void> => {
    const isSure = await confirm({
      title: `Approve ${pending.length} nodes?`,
      text: <PendingList nodes={pending} />,
      confirm: 'Approve all',
    })
    if (!isSure) return
    setBusy(true)
    await approve(pending)
    setBusy(false)
  }
  return (
    <Notice
      tone="warn"
      action={
        <Button small tone="primary" icon={Check} busy={isBusy} onClick={() => void approveAll()}>
          Approve all
        </Button>
      }
    >
      {pending.length} nodes wait for approval: {names.join(', ')}
      {more > 0 && ` +${more} more`}
    </Notice>
  )
}

/** Names are what workers say of themselves, so the addresses stand beside them. */
function PendingList({ nodes }: { nodes: readonly NodeView[] }): ReactNode {
  return (
    <>
      <p>They get work and what they need for it. Approve only machines that you know.</p>
      <ul className={style['list']}>
        {nodes.map(({ id, name, address }) => (
          <li key={id}>
            <strong>{name}</strong> <code>{address}</code>
          </li>
        ))}
      </ul>
    </>
  )
}

/** One after another; what is refused does not keep the others waiting. How it went is told once for all. */
async function approve(nodes: readonly NodeView[]): Promise<void> {
  const refusals: string[] = []
  for (const { id } of nodes) {
    await call('approveNode', { params: { id } }).catch((error: Error) => refusals.push(error.message))
  }
  const done = nodes.length - refusals.length
  if (done > 0) tell.done(`${countText(done, 'node')} ${done === 1 ? 'is' : 'are'} approved.`)
  if (refusals.length > 0) tell.failed([...new Set(refusals)].join(' '))
}
