import { expect, onTestFinished, test } from 'vitest'
import { dashboardLink } from './dashboard-link.ts'
import { hashSecret } from '../../platform/secrets.ts'
import { openDatabase } from '../../store/database.ts'
import { takeCode } from '../../store/nouns/sessions.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'

async function aStore() {
  const db = await openDatabase({ file: `${tempFolder()}/flotilla.db` })
  onTestFinished(() => db.close())
  return db
}

const url = 'http://127.0.0.1:8080'

test('on a screen it signs in, once', async () => {
  const db = await aStore()
  const link = await dashboardLink({ url, db }, true)
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:8080\/sign-in#flo_[\w-]{43}$/)
  const take = () => db.transaction((tx) => takeCode(tx, hashSecret(link.split('#')[1]!)))
  expect([await take(), await take()]).toEqual([{ actor: 'admin', keyId: null }, undefined])
})

test('elsewhere it holds no secret, and says how to get a link', async () => {
  const db = await aStore()
  expect(await dashboardLink({ url, db }, false)).toBe(`${url}/   (flotilla dashboard prints a link that signs you in)`)
  expect(await db.query('select hash from sign_in_codes')).toEqual([])
})

test('a store that is away keeps nobody from serving', async () => {
  const db = await aStore()
  await db.close()
  expect(await dashboardLink({ url, db }, true)).toContain(`${url}/ `)
})
