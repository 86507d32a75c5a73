import { z } from 'zod'
import type { RoutedKeyMessage } from '../../api/bus/messages.ts'
import { keyScope, type KeyScope } from '../../api/key-scope.ts'
import type { Sql } from '../sql.ts'
import { jsonText } from '../json-text.ts'
import { GOOD_SESSION } from './sessions.ts'

export type KeyState = 'active' | 'expired' | 'revoked'

const granted = { scopes: jsonText(z.array(keyScope)), models: jsonText(z.array(z.string())).nullable() }

const keyRow = z
  .object({
    id: z.string(),
    name: z.string(),
    ...granted,
    created_at: z.number(),
    expires_at: z.number().nullable(),
    last_used_at: z.number().nullable(),
    revoked_at: z.number().nullable(),
    /** The store's time when it was read: it alone says what has expired. */
    now: z.number(),
  })
  .transform(({ revoked_at, now, ...row }) => ({ ...row, state: stateOf(revoked_at, row.expires_at, now) }))
const keyRows = keyRow.array()
export type KeyRow = z.infer<typeof keyRow>

const COLUMNS = 'id, name, scopes, models, created_at, expires_at, last_used_at, revoked_at, now_ms() as now'

/** What the id of a key begins with that belongs to a session of the dashboard; the session's id follows. */
const OF_SESSION = 'session:'
const IS_OF_SESSION = `id like '${OF_SESSION}%'`

/**
 * The one definition of a key that works, for statements. `stateOf` says the same of a row that is no session's: those work
 * for as long as their session does, however that ends.
 */
const ACTIVE = `revoked_at is null and (expires_at is null or expires_at > now_ms()) and (not ${IS_OF_SESSION}
  or substr(id, ${OF_SESSION.length + 1}) in (select id from sessions where ${GOOD_SESSION}))`

function stateOf(revokedAt: number | null, expiresAt: number | null, now: number): KeyState {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active'
}

/** Without those of sessions, which are listed nowhere. */
export async function listKeys(sql: Sql): Promise<KeyRow[]> {
  return keyRows.parse(
    await sql.query(`select ${COLUMNS} from api_keys where not ${IS_OF_SESSION} order by created_at, id`),
  )
}

/** Undefined also when the key no longer works. */
export async function findKeyByHash(sql: Sql, keyHash: string): Promise<KeyRow | undefined> {
  const rows = await sql.query(`select ${COLUMNS} from api_keys where key_hash = $1 and ${ACTIVE}`, [keyHash])
  return keyRows.parse(rows)[0]
}

const routedRow = z.object({ id: z.string(), key_hash: z.string(), ...granted, expires_at: z.number().nullable() })
const routedRows = routedRow.array()

/** The keys that work, as gateways check them. */
export async function listRoutedKeys(sql: Sql): Promise<RoutedKeyMessage[]> {
  const columns = 'id, key_hash, scopes, models, expires_at'
  return routedRows.parse(await sql.query(`select ${columns} from api_keys where ${ACTIVE} order by id`))
}

/** What the lists of models of all keys that work take. */
export async function listedCharacters(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ n: number }>(
    `select coalesce(sum(length(models)), 0) as n from api_keys where ${ACTIVE}`,
  )
  return row!.n
}

export interface NewKey {
  id: string
  name: string
  keyHash: string
  scopes: readonly KeyScope[]
  models: readonly string[] | null
  expiresInMs?: number | undefined
}

export async function insertKey(tx: Sql, key: NewKey): Promise<KeyRow> {
  const rows = await tx.query(
    `insert into api_keys (id, name, key_hash, scopes, models, created_at, expires_at)
     values ($1, $2, $3, $4, $5, now_ms(), now_ms() + cast($6 as bigint))
     returning ${COLUMNS}`,
    [
      key.id,
      key.name,
      key.keyHash,
      JSON.stringify(key.scopes),
      key.models && JSON.stringify(key.models),
      key.expiresInMs ?? null,
    ],
  )
  return keyRow.parse(rows[0])
}

/**
 * The key of a session, for inference alone: it ends with the session, or after so long if it is not asked for again. Returns
 * when it expires.
 */
export async function keepSessionKey(
  tx: Sql,
  { sessionId, keyHash, lifeMs }: { sessionId: string; keyHash: string; lifeMs: number },
): Promise<number> {
  await tx.query(`delete from api_keys where ${IS_OF_SESSION} and not (${ACTIVE})`)
  const rows = await tx.query<{ expires_at: number }>(
    `insert into api_keys (id, name, key_hash, scopes, models, created_at, expires_at)
     select $1, 'a session of the dashboard', $2, '["inference"]', null, now_ms(),
       case when expires_at < now_ms() + cast($3 as bigint) then expires_at else now_ms() + cast($3 as bigint) end
     from sessions where id = $4
     on conflict (id) do update set key_hash = excluded.key_hash, expires_at = excluded.expires_at
     returning expires_at`,
    [`${OF_SESSION}${sessionId}`, keyHash, lifeMs, sessionId],
  )
  return rows[0]!.expires_at
}

/** Undefined when there is no such key; revoking twice changes nothing. */
export async function revokeKey(tx: Sql, id: string): Promise<{ key: KeyRow; changed: boolean } | undefined> {
  const changed = await tx.query(
    'update api_keys set revoked_at = now_ms() where id = $1 and revoked_at is null returning id',
    [id],
  )
  const [key] = keyRows.parse(await tx.query(`select ${COLUMNS} from api_keys where id = $1`, [id]))
  return key && { key, changed: changed.length === 1 }
}

/** It ends after so long, if not before. */
export async function shortenKey(tx: Sql, id: string, lifeMs: number): Promise<void> {
  await tx.query(
    `update api_keys set expires_at = now_ms() + cast($2 as bigint)
     where id = $1 and (expires_at is null or expires_at > now_ms() + cast($2 as bigint))`,
    [id, lifeMs],
  )
}

/** These were used just now. At most 1000 at a time: each is a parameter of the statement. */
export async function touchKeys(tx: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const list = ids.map((_, i) => `$${i + 1}`).join(', ')
  await tx.query(`update api_keys set last_used_at = now_ms() where id in (${list})`, ids)
}

/** Makes room when there are `most` keys: the oldest that no longer work go. False when there is none to give up. */
export async function makeRoomForKey(tx: Sql, most: number): Promise<boolean> {
  const [count] = await tx.query<{ n: number }>('select count(*) as n from api_keys')
  if (count!.n < most) return true
  const dead = (await listKeys(tx)).filter(({ state }) => state !== 'active')
  for (const { id } of dead.slice(0, count!.n - most + 1)) await tx.query('delete from api_keys where id = $1', [id])
  return dead.length > count!.n - most
}
