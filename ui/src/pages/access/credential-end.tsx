import type { ComponentProps, ReactNode } from 'react'
import { exactText } from '../../format/time.ts'
import { Ago } from '../../parts/ago.tsx'
import table from '../../parts/table.module.css'
import { RevokeButton } from './revoke-button.tsx'

interface Credential {
  id: string
  name: string
  state: string
  created_at: number
  expires_at: number | null
  last_used_at: number | null
}

/** How the row of a key or a token ends: when it was made, ends and was used, and how to revoke it. */
export function CredentialEnd({
  of: { id, name, state, created_at: madeAt, expires_at: endsAt, last_used_at: usedAt },
  ...revoke
}: { of: Credential } & Pick<ComponentProps<typeof RevokeButton>, 'by' | 'listed' | 'follows'>): ReactNode {
  return (
    <>
      <td>
        <Ago at={madeAt} />
      </td>
      <td>{endsAt === null ? 'never' : exactText(endsAt)}</td>
      <td>
        <Ago at={usedAt} />
      </td>
      <td className={table['actions']}>{state === 'active' && <RevokeButton id={id} name={name} {...revoke} />}</td>
    </>
  )
}
