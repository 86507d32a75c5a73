import { Ticket } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import type { TokenView } from '../../../../src/api/admin/schemas.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { ActionsHead } from '../../parts/actions-head.tsx'
import { Button } from '../../parts/button.tsx'
import { Failure } from '../../parts/notice.tsx'
import { Panel } from '../../parts/page.tsx'
import { Pill } from '../../parts/pill.tsx'
import { Spinner } from '../../parts/spinner.tsx'
import table from '../../parts/table.module.css'
import { CredentialEnd } from './credential-end.tsx'
import { TokenDialog } from './token-dialog.tsx'

/** The join tokens: with which machines become nodes. */
export function TokensPanel(): ReactNode {
  const tokens = useAnswer('listTokens', {}, { follows: true })
  const [isOpen, setOpen] = useState(false)
  const add = (
    <Button icon={Ticket} onClick={() => setOpen(true)}>
      New token
    </Button>
  )
  return (
    <Panel title="Join tokens" actions={add} flush>
      {tokens.error && <Failure error={tokens.error} onRetry={() => void tokens.refetch()} />}
      {tokens.isPending && <Spinner label="Reading the tokens…" />}
      {tokens.data && (
        <table className={table['table']} aria-label="Join tokens">
          <thead>
            <tr>
              {['Name', 'State', 'Used', 'Made', 'Ends', 'Last used'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
              <ActionsHead />
            </tr>
          </thead>
          <tbody>
            {tokens.data.map((token) => (
              <TokenRow key={token.id} token={token} />
            ))}
          </tbody>
        </table>
      )}
      <TokenDialog open={isOpen} onClose={() => setOpen(false)} />
    </Panel>
  )
}

function TokenRow({ token }: { token: TokenView }): ReactNode {
  return (
    <tr>
      <td>{token.name}</td>
      <td>
        <Pill tone={token.state === 'active' ? 'ok' : 'idle'}>{token.state}</Pill>
      </td>
      <td className="figures">{token.max_uses === null ? token.uses : `${token.uses} of ${token.max_uses}`}</td>
      <CredentialEnd
        of={token}
        by="revokeToken"
        listed="listTokens"
        follows="No machine can join with it any more. Nodes that have joined stay."
      />
    </tr>
  )
}
