import { beforeEach, describe, expect, test } from 'vitest'
import { insertKey, revokeKey } from '../nouns/api-keys.ts'
import { failureOf, setUpWorkbench, type ContractStore } from './contract.ts'
import type { Database } from '../sql.ts'
import { deleteSession, findSession, insertCode, insertSession, takeCode, type NewSession } from '../nouns/sessions.ts'

const HOUR_MS = 3_600_000

export function describeSessions(create: () => Promise<ContractStore>): void {
  describe('sessions', () => {
    const bench = setUpWorkbench(create)
    let db: Database

    beforeEach(async () => {
      db = await bench.open()
    })
    const begin = (id: string, fields: Partial<NewSession> = {}, most = 100) =>
      db.transaction((tx) =>
        insertSession(tx, { id, hash: `h-${id}`, actor: 'admin', keyId: null, lifeMs: HOUR_MS, ...fields }, most),
      )
    const makeCode = (hash: string, { lifeMs = HOUR_MS, keyId = null as string | null, most = 100 } = {}) =>
      db.transaction((tx) => insertCode(tx, { hash, actor: 'admin', keyId, lifeMs }, most))
    const take = (hash: string) => db.transaction((tx) => takeCode(tx, hash))
    const aKey = (id: string) =>
      db.transaction((tx) =>
        insertKey(tx, { id, name: id, keyHash: id, scopes: ['admin'], models: null, expiresInMs: HOUR_MS }),
      )
    const found = async (...ids: string[]) => {
      const rows = await Promise.all(ids.map((id) => findSession(db, `h-${id}`)))
      return rows.flatMap((row) => row?.id ?? [])
    }

    test('are found by their hash, with their actor and their end', async () => {
      const before = Date.now()
      const row = await begin('a', { actor: 'key größe', keyId: null })
      expect(row).toMatchObject({ id: 'a', actor: 'key größe', key_id: null })
      expect(Math.abs(row.expires_at - before - HOUR_MS)).toBeLessThan(60_000)
      expect(await findSession(db, 'h-a')).toEqual(row)
      for (const hash of ['a', 'H-A', 'h-%', '']) expect(await findSession(db, hash)).toBeUndefined()
    })

    test('the same text twice is refused', async () => {
      await begin('a')
      expect(await failureOf(begin('b', { hash: 'h-a' }))).toMatchObject({ constraint: 'unique' })
    })

    test('end by themselves, and the next one to begin forgets them', async () => {
      await begin('a', { lifeMs: 0 })
      await begin('b', { lifeMs: HOUR_MS })
      expect(await found('a', 'b')).toEqual(['b'])
      await begin('c')
      expect(await db.query('select id from sessions order by id')).toEqual([{ id: 'b' }, { id: 'c' }])
    })

    test('end with the key that they began with, revoked, expired or forgotten', async () => {
      for (const id of ['k1', 'k2', 'k3', 'k4']) {
        await aKey(id)
        await begin(id, { keyId: id })
      }
      await db.transaction(async (tx) => {
        await revokeKey(tx, 'k1')
        await tx.query(`update api_keys set expires_at = now_ms() where id = 'k2'`)
        await tx.query(`delete from api_keys where id = 'k3'`)
      })
      expect(await found('k1', 'k2', 'k3', 'k4')).toEqual(['k4'])
    })

    test('are ended once', async () => {
      await begin('a')
      await begin('b')
      const end = () => db.transaction((tx) => deleteSession(tx, 'h-a'))
      expect(await end()).toMatchObject({ id: 'a', actor: 'admin' })
      expect(await end()).toBeUndefined()
      expect(await found('a', 'b')).toEqual(['b'])
    })

    test('when there are too many, the oldest goes', async () => {
      for (const id of ['a', 'b', 'c']) await begin(id)
      await db.transaction((tx) => tx.query(`update sessions set created_at = 1 where id = 'b'`))
      await begin('d', {}, 3)
      expect(await found('a', 'b', 'c', 'd')).toEqual(['a', 'c', 'd'])
    })

    test('a code is taken once, by one of many at the same time', async () => {
      await makeCode('x')
      const taken = await Promise.all(Array.from({ length: 8 }, () => take('x')))
      expect(taken.filter((holder) => holder !== undefined)).toEqual([{ actor: 'admin', keyId: null }])
      expect(await take('x')).toBeUndefined()
    })

    test('a code that is unknown, has expired or whose key was revoked is none', async () => {
      await aKey('k')
      await makeCode('late', { lifeMs: 0 })
      await makeCode('of a key', { keyId: 'k' })
      await makeCode('of a revoked key', { keyId: 'k' })
      expect(await take('of a key')).toEqual({ actor: 'admin', keyId: 'k' })
      await db.transaction((tx) => revokeKey(tx, 'k'))
      for (const hash of ['late', 'of a revoked key', 'unknown', '']) expect(await take(hash)).toBeUndefined()
    })

    test('of too many codes those that end first go', async () => {
      await makeCode('a')
      await makeCode('b', { lifeMs: HOUR_MS / 2 })
      await makeCode('c', { most: 2 })
      expect((await Promise.all(['a', 'b', 'c'].map(take))).map((holder) => holder?.actor)).toEqual([
        'admin',
        undefined,
        'admin',
      ])
      const expiresAt = await makeCode('d')
      expect(Math.abs(expiresAt - Date.now() - HOUR_MS)).toBeLessThan(60_000)
    })
  })
}
