import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../test/support/temp-folder.ts'
import { hashSecret, newSecret, readOrCreateSecret, sameHash, sameSecret } from './secrets.ts'

test('a secret is made once, readable by its owner only, and leaves no other file', () => {
  const folder = tempFolder()
  const path = join(folder, 'admin.key')
  const first = readOrCreateSecret(path, () => newSecret('fla'))
  expect(readOrCreateSecret(path, () => newSecret('fla'))).toBe(first)
  expect(first).toMatch(/^fla_[\w-]{43}$/)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder)).toEqual(['admin.key'])
})

test('a secret that others can read is closed to them', () => {
  const path = join(tempFolder(), 'admin.key')
  writeFileSync(path, 'x\n')
  chmodSync(path, 0o644)
  expect(readOrCreateSecret(path, () => 'y')).toBe('x')
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('an empty file is refused instead of becoming a key that everybody knows', () => {
  const path = join(tempFolder(), 'admin.key')
  writeFileSync(path, '\n')
  expect(() => readOrCreateSecret(path, () => 'y')).toThrow('is empty')
})

test('secrets are compared by value, whatever their lengths', () => {
  expect(sameSecret('abc', 'abc')).toBe(true)
  expect(sameSecret('abc', 'abcd')).toBe(false)
  expect(sameSecret('', 'a')).toBe(false)
  expect(sameSecret('abć', 'ab\u0007')).toBe(false)
})

test('a hash is the sha256 in hex, and hashes are compared by value', () => {
  const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  expect(hashSecret('abc')).toBe(abc)
  expect(sameHash(hashSecret('abc'), abc)).toBe(true)
  expect(sameHash(hashSecret('abd'), abc)).toBe(false)
  expect(sameHash('', abc)).toBe(false)
})
