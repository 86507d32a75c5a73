import { expect, test } from 'vitest'
import { failureOf } from '../contract/contract.ts'
import { openDatabase } from '../database.ts'
import { serverOf } from './postgres-url.ts'

test.each([
  ['postgres://user:secret@db.example:6543/flotilla', 'db.example:6543'],
  ['postgresql://user:secret@db.example/flotilla?sslmode=require', 'db.example:5432'],
  ['postgres://user:p%40ss@[::1]:5433/x', '[::1]:5433'],
  ['postgres://user:secret@a:1,b:2/x', 'a:1,b:2'],
  ['postgres:///flotilla', 'localhost:5432'],
])('%s is at %s', (url, server) => {
  expect(serverOf(url)).toBe(server)
})

test.each([
  'mysql://user:secret@host/db',
  'not a url secret',
  'postgres://user:sec/secret@host/db',
  'postgres://user:secret@ho st:port/db',
])('"%s" is refused without showing the password', async (url) => {
  const failure = await failureOf(openDatabase({ url }))
  expect(failure).toMatchObject({ code: 'usage' })
  expect(failure.message).not.toContain('sec')
  expect(failure.cause).toBeUndefined()
})
