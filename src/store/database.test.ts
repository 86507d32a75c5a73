import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { describeApiKeys } from './contract/api-keys.ts'
import { describeConcurrency } from './contract/concurrency.ts'
import { describeStoreIdentity } from './contract/identity.ts'
import { describeLeases } from './contract/leases.ts'
import { describeMigrations } from './contract/migrations.ts'
import { describeRules } from './contract/rules.ts'
import { describeSessions } from './contract/sessions.ts'
import { describeStatements } from './contract/statements.ts'
import { describeTransactions } from './contract/transactions.ts'
import { opened, type EmptyStore } from './contract/contract.ts'

async function emptyFile(): Promise<EmptyStore> {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-sqlite-'))
  return {
    target: { file: join(folder, 'flotilla.db') },
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

describe('SQLite', () => {
  const create = opened(emptyFile)
  describeStatements(create)
  describeTransactions(create)
  describeConcurrency(create)
  describeMigrations(create)
  describeLeases(create)
  describeStoreIdentity(create)
  describeApiKeys(create)
  describeRules(create)
  describeSessions(create)
})
