import { z } from 'zod'
import { keyScope } from '../../api/key-scope.ts'
import type { Sql } from '../sql.ts'
import { jsonText } from '../json-text.ts'

/** The identity of a caller: the actor of events, and the API key that was shown; null for the admin key. */
export interface Holder {
  actor: string
  keyId: string | null
}

const sessionRow = z.object({
  id: z.string(),
  actor: z.string(),
  key_id: z.string().nullable(),
  expires_at: z.number(),
  /** Of the API key behind it, as they are now; null for the admin key. */
  scopes: jsonText(z.array(keyScope)).nullable(),
})
export type SessionRow = z.infer<typeof sessionRow>

const COLUMNS = `id, actor, key_id, expires_at,
  (select scopes from api_keys where api_keys.id = key_id) as scopes`

/** A session counts as missing when it has expired, or when the API key behind it no longer works. */
export const GOOD_SESSION = `expires_at > now_ms() and (key_id is null or key_id in
  (select id from api_keys where revoked_at is null and (expires_at is null or expires_at > now_ms())))`

/** Undefined also when the session has ended, by itself or with its key. */
export async function findSession(sql: Sql, hash: string): Promise<SessionRow | undefined> {
  const rows = await sql.query(`select ${COLUMNS} from sessions where hash = $1 and ${GOOD_SESSION}`, [hash])
  return sessionRow.array().parse(rows)[0]
}

export interface NewSession extends Holder {
  id: string
  hash: string
  lifeMs: number
}

/** Forgets those that have expired, and the oldest when there are `most`. */
export async function insertSession(tx: Sql, session: NewSession, most: number): Promise<SessionRow> {
  await tx.query('delete from sessions where expires_at <= now_ms()')
  await tx.query(
    'delete from sessions where id in (select id from sessions order by created_at desc, id limit $1 offset $2)',
    [MOST_AT_ONCE, most - 1],
  )
  const rows = await tx.query(
    `insert into sessions (id, hash, actor, key_id, created_at, expires_at)
     values ($1, $2, $3, $4, now_ms(), now_ms() + cast($5 as bigint)) returning ${COLUMNS}`,
    [session.id, session.hash, session.actor, session.keyId, session.lifeMs],
  )
  return sessionRow.parse(rows[0])
}

/** SQLite knows no offset without a limit. */
const MOST_AT_ONCE = 100_000

/** Undefined when there was none. */
export async function deleteSession(tx: Sql, hash: string): Promise<SessionRow | undefined> {
  const rows = await tx.query(`delete from sessions where hash = $1 returning ${COLUMNS}`, [hash])
  return sessionRow.array().parse(rows)[0]
}

/** Ends what admin keys have begun, of whichever frontend: sessions, and codes that would begin others. Returns how many sessions. */
export async function endAdminSessions(tx: Sql): Promise<number> {
  await tx.query('delete from sign_in_codes where key_id is null')
  return (await tx.query('delete from sessions where key_id is null returning id')).length
}

export interface NewCode extends Holder {
  hash: string
  lifeMs: number
}

/** Forgets those that have expired, and those that end first when there are `most`. Returns when it expires. */
export async function insertCode(tx: Sql, { hash, actor, keyId, lifeMs }: NewCode, most: number): Promise<number> {
  await tx.query('delete from sign_in_codes where expires_at <= now_ms()')
  await tx.query(
    `delete from sign_in_codes where hash in
       (select hash from sign_in_codes order by expires_at desc, hash limit $1 offset $2)`,
    [MOST_AT_ONCE, most - 1],
  )
  const rows = await tx.query<{ expires_at: number }>(
    `insert into sign_in_codes (hash, actor, key_id, expires_at)
     values ($1, $2, $3, now_ms() + cast($4 as bigint)) returning expires_at`,
    [hash, actor, keyId, lifeMs],
  )
  return rows[0]!.expires_at
}

const codeRow = z.object({ actor: z.string(), key_id: z.string().nullable() })

/** Uses it up. Undefined when it is unknown, used, expired, or its key no longer works. */
export async function takeCode(tx: Sql, hash: string): Promise<Holder | undefined> {
  const rows = await tx.query(`delete from sign_in_codes where hash = $1 and ${GOOD_SESSION} returning actor, key_id`, [
    hash,
  ])
  const [code] = codeRow.array().parse(rows)
  return code && { actor: code.actor, keyId: code.key_id }
}
