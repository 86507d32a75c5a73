import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../store/database.ts'
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
  describeOn('SQLite', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-control-'))
    const db = await openDatabase({ file: join(folder, 'flotilla.db') })
    return { db, drop: async () => rmSync(folder, { recursive: true, force: true }) }
  })
}
