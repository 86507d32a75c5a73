import { openDatabase } from '../store/database.ts'
import { emptiedStore } from '../../test/support/store/emptied-store.ts'
import { createTestDatabase } from '../../test/support/postgres/postgres.ts'
import { describeEverything } from './suites/every-suite.ts'

describeEverything(
  'PostgreSQL',
  emptiedStore(async () => {
    const database = await createTestDatabase()
    return { db: await openDatabase({ url: database.url }), drop: () => database.drop() }
  }),
)
