import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { loadIdentity } from './identity.ts'

test('a key is made once, for its owner alone', () => {
  const path = join(tempFolder(), 'node.seed')
  const first = loadIdentity(path)
  expect(loadIdentity(path)).toEqual(first)
  expect(first.old).toBeUndefined()
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('another key comes with the old one until that is forgotten, over any number of starts', () => {
  const folder = tempFolder()
  const path = join(folder, 'node.seed')
  const first = loadIdentity(path)
  const second = loadIdentity(path, true)
  expect(second.publicKey).not.toBe(first.publicKey)
  expect(second.old?.seed).toBe(first.seed)
  expect(statSync(`${path}.old`).mode & 0o777).toBe(0o600)
  // The cluster knows only the first: a third one would have nobody who vouches for it.
  expect(loadIdentity(path, true)).toMatchObject({ publicKey: second.publicKey, old: { seed: first.seed } })
  second.old!.forget()
  expect(loadIdentity(path)).toEqual({ seed: second.seed, publicKey: second.publicKey })
  expect(readdirSync(folder)).toEqual(['node.seed'])
})

test('asked for before there is any, it is just made', () => {
  const path = join(tempFolder(), 'node.seed')
  expect(loadIdentity(path, true).old).toBeUndefined()
  expect(existsSync(`${path}.old`)).toBe(false)
})
