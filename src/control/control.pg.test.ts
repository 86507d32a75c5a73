import { openDatabase } from '../store/database.ts'
import { emptiedStore } from '../testing/emptied-store.ts'
import { createTestDatabase } from '../testing/postgres.ts'
import { describeEverything } from './every-suite.ts'

describeEverything(
  'PostgreSQL',
  emptiedStore(async () => {
    const database = await createTestDatabase()
    return { db: await openDatabase({ url: database.url }), drop: () => database.drop() }
  }),
)
