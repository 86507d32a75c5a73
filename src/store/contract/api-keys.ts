import { beforeEach, describe, expect, test } from 'vitest'
import {
  findKeyByHash,
  insertKey,
  listKeys,
  listRoutedKeys,
  makeRoomForKey,
  revokeKey,
  touchKeys,
  type NewKey,
} from '../nouns/api-keys.ts'
import { failureOf, setUpWorkbench, type ContractStore } from './contract.ts'
import type { Database } from '../sql.ts'

export function describeApiKeys(create: () => Promise<ContractStore>): void {
  describe('API keys', () => {
    const bench = setUpWorkbench(create)
    let db: Database

    beforeEach(async () => {
      db = await bench.open()
    })
    const insert = (id: string, fields: Partial<NewKey> = {}) =>
      db.transaction((tx) =>
        insertKey(tx, { id, name: id, keyHash: `hash of ${id}`, scopes: ['inference'], models: null, ...fields }),
      )
    const revoke = (id: string) => db.transaction((tx) => revokeKey(tx, id))
    const expire = (id: string) =>
      db.transaction((tx) => tx.query('update api_keys set expires_at = now_ms() where id = $1', [id]))
    const states = async () => Object.fromEntries((await listKeys(db)).map(({ id, state }) => [id, state]))

    test('are kept with what they are good for, whatever the models are called', async () => {
      const models = ['org/m "1"', 'größe', '模型']
      const before = Date.now()
      const row = await insert('a', { name: 'ключ', scopes: ['inference', 'admin'], models, expiresInMs: 3_600_000 })
      expect(row).toMatchObject({ id: 'a', name: 'ключ', scopes: ['inference', 'admin'], models, state: 'active' })
      expect(Math.abs(row.created_at - before)).toBeLessThan(60_000)
      // The store's clock may move on within one statement.
      expect(Math.abs(row.expires_at! - row.created_at - 3_600_000)).toBeLessThan(60_000)
      expect(await insert('b')).toMatchObject({ models: null, expires_at: null, last_used_at: null })
      expect(await listKeys(db)).toMatchObject([row, { id: 'b' }])
    })

    test('no reading of them shows a hash, except that for gateways', async () => {
      await insert('a')
      const read = [await listKeys(db), await findKeyByHash(db, 'hash of a'), await revoke('a')]
      expect(JSON.stringify(read)).not.toContain('hash of a')
    })

    test('the same key twice is refused', async () => {
      await insert('a')
      expect(await failureOf(insert('b', { keyHash: 'hash of a' }))).toMatchObject({ constraint: 'unique' })
      expect(await states()).toEqual({ a: 'active' })
    })

    test('are found by their hash for as long as they work', async () => {
      for (const id of ['a', 'b', 'c']) await insert(id)
      await revoke('b')
      await expire('c')
      expect(await findKeyByHash(db, 'hash of a')).toMatchObject({ id: 'a', state: 'active' })
      for (const hash of ['hash of b', 'hash of c', 'hash of d', 'HASH OF A', 'hash of %', '']) {
        expect(await findKeyByHash(db, hash)).toBeUndefined()
      }
      expect(await states()).toEqual({ a: 'active', b: 'revoked', c: 'expired' })
    })

    test('gateways are told of those that work, and of nothing they need not know', async () => {
      await insert('b', { scopes: ['admin'], expiresInMs: 60_000 })
      await insert('a', { models: ['m'] })
      for (const id of ['c', 'd']) await insert(id)
      await revoke('c')
      await expire('d')
      const [, b] = await listRoutedKeys(db)
      expect(await listRoutedKeys(db)).toEqual([
        { id: 'a', key_hash: 'hash of a', scopes: ['inference'], models: ['m'], expires_at: null },
        { id: 'b', key_hash: 'hash of b', scopes: ['admin'], models: null, expires_at: b!.expires_at },
      ])
    })

    test('revoking twice changes nothing; revoking an unknown one neither', async () => {
      await insert('a')
      expect(await revoke('a')).toMatchObject({ changed: true, key: { id: 'a', state: 'revoked' } })
      const [once] = await db.query('select revoked_at from api_keys')
      expect(await revoke('a')).toMatchObject({ changed: false, key: { state: 'revoked' } })
      expect(await db.query('select revoked_at from api_keys')).toEqual([once])
      expect(await revoke('nobody')).toBeUndefined()
    })

    test('one that has expired may still be revoked', async () => {
      await insert('a')
      await expire('a')
      expect(await revoke('a')).toMatchObject({ changed: true, key: { state: 'revoked' } })
    })

    test('when they were used is kept for many at once, and for those alone', async () => {
      const ids = Array.from({ length: 1000 }, (_, i) => `k${i}`)
      await db.transaction(async (tx) => {
        for (const id of [...ids, 'unused']) {
          await insertKey(tx, { id, name: id, keyHash: id, scopes: ['inference'], models: null })
        }
      })
      await db.transaction((tx) => touchKeys(tx, [...ids.slice(1), 'nobody']))
      await db.transaction((tx) => touchKeys(tx, []))
      const unused = (await listKeys(db)).filter((key) => key.last_used_at === null).map(({ id }) => id)
      expect(unused.toSorted()).toEqual(['k0', 'unused'])
    })

    test('room is made by forgetting the oldest that no longer work, never one that does', async () => {
      const room = (most: number) => db.transaction((tx) => makeRoomForKey(tx, most))
      for (const id of ['a', 'b', 'c']) await insert(id)
      await db.transaction((tx) => tx.query(`update api_keys set created_at = 1 where id = 'c'`))
      expect(await room(4)).toBe(true)
      expect(await room(3)).toBe(false)
      await revoke('b')
      await expire('c')
      expect(await room(3)).toBe(true)
      expect(await states()).toEqual({ a: 'active', b: 'revoked' })
      expect(await room(1)).toBe(false)
    })
  })
}
