import { openDatabase } from '../store/database.ts'
import { createTestDatabase } from '../testing/postgres.ts'
import { describeEverything } from './every-suite.ts'

describeEverything('PostgreSQL', async () => {
  const database = await createTestDatabase()
  const db = await openDatabase({ url: database.url })
  return { db, drop: () => database.drop() }
})
