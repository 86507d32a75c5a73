import { KeyRound } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import type { KeyView } from '../../../../src/api/admin/schemas.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { ActionsHead } from '../../parts/actions-head.tsx'
import { Button } from '../../parts/button.tsx'
import { Empty, Failure } from '../../parts/notice.tsx'
import { Panel } from '../../parts/page.tsx'
import { Pill } from '../../parts/pill.tsx'
import { Spinner } from '../../parts/spinner.tsx'
import table from '../../parts/table.module.css'
import { CredentialEnd } from './credential-end.tsx'
import { KeyDialog } from './key-dialog.tsx'

/** The API keys: who may ask what. */
export function KeysPanel(): ReactNode {
  const keys = useAnswer('listKeys', {}, { follows: true })
  const [isOpen, setOpen] = useState(false)
  const add = (
    <Button tone="primary" icon={KeyRound} onClick={() => setOpen(true)}>
      New key
    </Button>
  )
  return (
    <Panel title="API keys" actions={add} flush>
      {keys.error && <Failure error={keys.error} onRetry={() => void keys.refetch()} />}
      {keys.isPending && <Spinner label="Reading the keys…" />}
      {keys.data?.length === 0 && (
        <Empty>No keys yet. With local inference on, programs on the frontend’s own machine may ask without one.</Empty>
      )}
      {keys.data && keys.data.length > 0 && <KeysTable keys={keys.data} />}
      <KeyDialog open={isOpen} onClose={() => setOpen(false)} />
    </Panel>
  )
}

function KeysTable({ keys }: { keys: readonly KeyView[] }): ReactNode {
  return (
    <table className={table['table']} aria-label="API keys">
      <thead>
        <tr>
          {['Name', 'State', 'May', 'Models', 'Made', 'Ends', 'Last used'].map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
          <ActionsHead />
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <KeyRow key={key.id} apiKey={key} />
        ))}
      </tbody>
    </table>
  )
}

function KeyRow({ apiKey: key }: { apiKey: KeyView }): ReactNode {
  return (
    <tr>
      <td>{key.name}</td>
      <td>
        <Pill tone={key.state === 'active' ? 'ok' : 'idle'}>{key.state}</Pill>
      </td>
      <td>{useOf(key)}</td>
      <td>{modelsOf(key)}</td>
      <CredentialEnd
        of={key}
        by="revokeKey"
        listed="listKeys"
        follows="Whoever uses it is refused from now on. This cannot be undone."
      />
    </tr>
  )
}

function useOf({ scopes }: KeyView): string {
  if (scopes.includes('admin')) return 'everything'
  const uses = scopes.map((scope) => (scope === 'read' ? 'look at everything' : 'ask models'))
  return uses.join(', ')
}

/** A key that may not ask any has none. */
function modelsOf({ scopes, models }: KeyView): string {
  if (scopes.every((scope) => scope === 'read')) return ''
  return models === null ? 'all' : models.join(', ')
}
