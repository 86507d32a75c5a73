import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { readIdentity, removeIdentity, writeIdentity } from './identity-file.ts'
import { groupOf, identify, isRunning, machineBoot, stateOf, type ProcessIdentity } from './process-identity.ts'

test('a process is known by its number, its start and the boot of the machine', () => {
  const us = identify(process.pid, 'm')!
  expect(us).toMatchObject({ pid: process.pid, boot: machineBoot(), mark: 'm' })
  expect(isRunning(us)).toBe(true)
  expect(isRunning({ ...us, startedAt: `${us.startedAt}1` })).toBe(false)
  expect(isRunning({ ...us, boot: 'another' })).toBe(false)
  expect(stateOf({ ...us, pid: 2 ** 30 })).toBe('ended')
  expect(identify(2 ** 30, 'm')).toBeUndefined()
})

test('a group whose number has gone to another process is empty', () => {
  const us = identify(process.pid, 'm')!
  expect(groupOf({ ...us, pid: 2 ** 30 })).toBe('ours')
  expect(groupOf({ ...us, startedAt: '1' })).toBe('empty')
  expect(groupOf({ ...us, boot: 'another' })).toBe('empty')
})

test('an identity is read back as it was written', () => {
  const folder = tempFolder()
  const identity = { ...anIdentity(), startedAt: 'Thu Jan 1 00:00:00 2026' }
  expect(readIdentity(folder)).toBeUndefined()
  writeIdentity(folder, identity)
  expect(readIdentity(folder)).toEqual(identity)
})

test.for([
  '',
  '1\n5\nb\nm\n',
  '0\n5\nb\nm\n',
  '-5\n5\nb\nm\n',
  '99999999999\n5\nb\nm\n',
  '12x\n5\nb\nm\n',
  '12\n5\nb\n',
  '12\n\nb\nm\n',
  '12\n5\nb\nm',
  '12\n5\nb\nm\nn\n',
])('%j is no identity', (text) => {
  const folder = tempFolder()
  writeFileSync(join(folder, 'identity'), text)
  expect(readIdentity(folder)).toBeUndefined()
})

test('only the identity of the same process is removed', () => {
  const folder = tempFolder()
  writeIdentity(folder, anIdentity())
  removeIdentity(folder, { mark: 'another' })
  expect(readIdentity(folder)).toBeDefined()
  removeIdentity(folder, anIdentity())
  expect(readIdentity(folder)).toBeUndefined()
})

test('an identity that cannot be read is none', () => {
  const folder = tempFolder()
  mkdirSync(join(folder, 'identity'))
  expect(readIdentity(folder)).toBeUndefined()
})

function anIdentity(): ProcessIdentity {
  return { pid: 4711, startedAt: '123456', boot: 'b', mark: 'm' }
}
