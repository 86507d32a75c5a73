import { describe } from 'vitest'
import { createTestDatabase } from '../../test/support/postgres/postgres.ts'
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

async function emptyDatabase(): Promise<EmptyStore> {
  const database = await createTestDatabase()
  return { target: { url: database.url }, drop: () => database.drop() }
}

describe('PostgreSQL', () => {
  const create = opened(emptyDatabase)
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
