import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/store/database.ts'
import { storeWorld } from '../reconcile/stored-world.ts'
import { measureTable } from './gateway.ts'
import { measureHeartbeats } from './heartbeats.ts'
import { measureLeader } from './leader.ts'
import { scaleWorld } from './scale-world.ts'
for (const n of process.argv.slice(2).map(Number)) {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-bench-'))
  const db = await openDatabase({ file: join(folder, 'flotilla.db') })
  const world = scaleWorld(n)
  await storeWorld(db, world)
  const { feed, ...leader } = await measureLeader(db)
  const { table, ...t } = await measureTable(feed)
  const h = await measureHeartbeats(db, world)
  console.log(n, JSON.stringify({ leader, t, h, dbSize: 0 }, null, 1))
  await db.close()
  rmSync(folder, { recursive: true })
}
