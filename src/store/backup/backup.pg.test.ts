import { join } from 'node:path'
import { describe } from 'vitest'
import { createTestDatabase } from '../../../test/support/postgres/postgres.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import type { EmptyStore } from '../contract/contract.ts'
import { describeBackup, describeCopy } from './backup-suite.ts'

async function emptyFile(): Promise<EmptyStore> {
  return { target: { file: join(tempFolder(), 'flotilla.db') }, drop: async () => {} }
}

async function emptyDatabase(): Promise<EmptyStore> {
  const database = await createTestDatabase()
  return { target: { url: database.url }, drop: () => database.drop() }
}

describe('a backup of SQLite in PostgreSQL', () => {
  describeCopy(emptyFile, emptyDatabase)
})

describe('a backup of PostgreSQL in SQLite', () => {
  describeCopy(emptyDatabase, emptyFile)
})

describe('a backup of PostgreSQL in PostgreSQL', () => {
  describeCopy(emptyDatabase, emptyDatabase)
  describeBackup(emptyDatabase)
})
