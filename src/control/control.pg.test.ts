import { openDatabase } from '../store/database.ts'
import { createTestDatabase } from '../testing/postgres.ts'
import { describeApproval } from './approval-suite.ts'
import { describeControl } from './control-suite.ts'
import { describeEvents } from './events-suite.ts'
import { describeHeartbeats } from './heartbeats-suite.ts'
import { describeJoining } from './joining-suite.ts'
import { describeWorld } from './world-suite.ts'

for (const describeOn of [
  describeControl,
  describeHeartbeats,
  describeJoining,
  describeEvents,
  describeApproval,
  describeWorld,
]) {
  describeOn('PostgreSQL', async () => {
    const database = await createTestDatabase()
    const db = await openDatabase({ url: database.url })
    return { db, drop: () => database.drop() }
  })
}
