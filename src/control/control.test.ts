import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../store/database.ts'
import { emptiedStore } from '../../test/support/store/emptied-store.ts'
import { describeEverything } from './suites/every-suite.ts'

describeEverything(
  'SQLite',
  emptiedStore(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-control-'))
    const db = await openDatabase({ file: join(folder, 'flotilla.db') })
    return { db, drop: async () => rmSync(folder, { recursive: true, force: true }) }
  }),
)
