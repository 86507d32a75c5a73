import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { natsAccounts } from './bus/nats-accounts.ts'
import { startNatsServer } from './bus/nats-server.ts'
import { createTestDatabase } from './postgres/postgres.ts'
import { storedRows } from './store/stored-rows.ts'
import { tempFolder } from './temp-folder.ts'

/** What a cluster stands on. */
export interface Ground {
  /** For its frontends. */
  args: string[]
  /** Rows of its store, read behind Flotilla's back; of the embedded one by the frontend's data folder. */
  rows(data: string, sql: string): Promise<Record<string, unknown>[]>
}

export async function onEmbedded(): Promise<Ground> {
  return { args: [], rows: storedRows }
}

/** PostgreSQL and a NATS server with accounts. */
export async function onServers(): Promise<Ground> {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  const accounts = natsAccounts()
  const nats = await startNatsServer({ accounts })
  onTestFinished(() => nats.stop())
  const seedFile = join(tempFolder(), 'account.seed')
  writeFileSync(seedFile, `${accounts.seed}\n`, { mode: 0o600 })
  return {
    args: ['--database-url', database.url, '--nats-url', nats.url, '--nats-account-seed-file', seedFile],
    rows: (_data, sql) => storedRows(database, sql),
  }
}
