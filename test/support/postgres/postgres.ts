import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { inject } from 'vitest'

export interface TestDatabase {
  url: string
  /** Runs a statement as somebody else would: on a connection that is not the store's. */
  run(text: string): Promise<Record<string, unknown>[]>
  drop(): Promise<void>
}

/** An empty database of its own for a test, on the server of the run. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl')
  const name = `flotilla_test_${randomBytes(6).toString('hex')}`
  await runOnce(serverUrl, `create database ${name} template template0`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    run: (text) => runOnce(url.href, text),
    async drop() {
      await runOnce(serverUrl, `drop database if exists ${name} with (force)`)
    },
  }
}

async function runOnce(url: string, text: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, fetch_types: false, connect_timeout: 10, onnotice: () => {} })
  try {
    return [...(await sql.unsafe(text))]
  } finally {
    await sql.end({ timeout: 5 })
  }
}
