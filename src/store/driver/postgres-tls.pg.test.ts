import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { makeSelfSigned } from '../../platform/tls/self-signed.ts'
import { aCertificatePair } from '../../../test/support/http/certificates.ts'
import { startPostgresServer, type TestServer } from '../../../test/support/postgres/postgres-server.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { openDatabase } from '../database.ts'
import { Session } from './postgres-session.ts'
import { postgresTls } from './postgres-tls.ts'

let server: TestServer

beforeAll(async () => {
  server = await startPostgresServer({ tls: aCertificatePair() })
})
afterAll(() => server.stop())

function aFile(text: string): string {
  const file = join(tempFolder(), 'file.pem')
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

async function isEncrypted(query: string): Promise<boolean> {
  const db = await openDatabase({ url: `${server.url}${query}` })
  try {
    const [row] = await db.query<{ ssl: number }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
    return row?.ssl === 1
  } finally {
    await db.close()
  }
}

/** One attempt: opening a database retries for a while. */
async function asked(query: string): Promise<unknown> {
  const session = new Session({ url: `${server.url}${query}`, readOnly: true, clock: systemClock })
  return session.query('select 1').finally(() => session.destroy())
}

test('the modes of a database URL mean what they mean elsewhere', { timeout: 180_000 }, async () => {
  const known = aFile(aCertificatePair().cert)
  const stranger = aFile(makeSelfSigned(['127.0.0.1'], Date.now()).cert)
  expect(await isEncrypted('?sslmode=require')).toBe(true)
  expect(await isEncrypted('?sslmode=disable')).toBe(false)
  for (const mode of ['require', 'verify-ca', 'verify-full']) {
    expect(await isEncrypted(`?sslmode=${mode}&sslrootcert=${known}`)).toBe(true)
    await expect(asked(`?sslmode=${mode}&sslrootcert=${stranger}`)).rejects.toThrow(/certificate/)
  }
  await expect(asked('?sslmode=verify-full')).rejects.toThrow(/certificate/)
  expect(() => postgresTls(`${server.url}?sslmode=verify-full&sslrootcert=${known}.not`)).toThrow('sslrootcert')
})
