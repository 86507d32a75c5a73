import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Sql } from '../sql.ts'

export type TokenState = 'active' | 'expired' | 'used up' | 'revoked'

const tokenRow = z
  .object({
    id: z.string(),
    name: z.string(),
    created_at: z.number(),
    expires_at: z.number().nullable(),
    max_uses: z.number().nullable(),
    uses: z.number(),
    last_used_at: z.number().nullable(),
    revoked_at: z.number().nullable(),
    /** The store's time when it was read: it alone says what has expired. */
    now: z.number(),
  })
  .transform(({ revoked_at, now, ...row }) => ({ ...row, state: stateOf({ ...row, revoked_at, now }) }))
export type TokenRow = z.infer<typeof tokenRow>

const COLUMNS = 'id, name, created_at, expires_at, max_uses, uses, last_used_at, revoked_at, now_ms() as now'

function stateOf(row: {
  revoked_at: number | null
  expires_at: number | null
  max_uses: number | null
  uses: number
  now: number
}): TokenState {
  if (row.revoked_at !== null) return 'revoked'
  if (row.expires_at !== null && row.expires_at <= row.now) return 'expired'
  return row.max_uses !== null && row.uses >= row.max_uses ? 'used up' : 'active'
}

/** The text of a token is random and long: a plain hash gives nothing away. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

export async function listTokens(sql: Sql): Promise<TokenRow[]> {
  return tokenRow.array().parse(await sql.query(`select ${COLUMNS} from join_tokens order by created_at, id`))
}

export async function findToken(sql: Sql, token: string): Promise<TokenRow | undefined> {
  const rows = await sql.query(`select ${COLUMNS} from join_tokens where token_hash = $1`, [hashOf(token)])
  return tokenRow.array().parse(rows)[0]
}

export interface NewToken {
  id: string
  name: string
  token: string
  expiresInMs?: number | undefined
  maxUses?: number | undefined
}

/** Undefined when this token is known already. */
export async function insertToken(tx: Sql, token: NewToken): Promise<TokenRow | undefined> {
  const rows = await tx.query(
    `insert into join_tokens (id, name, token_hash, created_at, expires_at, max_uses)
     values ($1, $2, $3, now_ms(), now_ms() + cast($4 as bigint), $5)
     on conflict (token_hash) do nothing returning ${COLUMNS}`,
    [token.id, token.name, hashOf(token.token), token.expiresInMs ?? null, token.maxUses ?? null],
  )
  return tokenRow.array().parse(rows)[0]
}

/** Takes one use. False when there is none to take. */
export async function useToken(tx: Sql, id: string): Promise<boolean> {
  const rows = await tx.query(
    `update join_tokens set uses = uses + 1, last_used_at = now_ms()
     where id = $1 and revoked_at is null and (expires_at is null or expires_at > now_ms())
       and (max_uses is null or uses < max_uses)
     returning id`,
    [id],
  )
  return rows.length === 1
}

/** Undefined when there is no such token; revoking twice changes nothing. */
export async function revokeToken(tx: Sql, id: string): Promise<{ token: TokenRow; changed: boolean } | undefined> {
  const changed = await tx.query(
    'update join_tokens set revoked_at = now_ms() where id = $1 and revoked_at is null returning id',
    [id],
  )
  const [token] = tokenRow.array().parse(await tx.query(`select ${COLUMNS} from join_tokens where id = $1`, [id]))
  return token && { token, changed: changed.length === 1 }
}

/**
 * Makes room when there are `most` tokens: the oldest that no longer work go. False when there is none to give up. A
 * worker that comes back with a token that was forgotten needs another one, so they are kept as long as there is room.
 */
export async function makeRoomForToken(tx: Sql, most: number): Promise<boolean> {
  const [count] = await tx.query<{ n: number }>('select count(*) as n from join_tokens')
  if (count!.n < most) return true
  const dead = (await listTokens(tx)).filter(({ state }) => state !== 'active')
  for (const { id } of dead.slice(0, count!.n - most + 1)) await tx.query('delete from join_tokens where id = $1', [id])
  return dead.length > count!.n - most
}
