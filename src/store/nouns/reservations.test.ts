import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { describeReservations } from '../contract/reservations-suite.ts'

describe('on SQLite', () => {
  describeReservations(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-sqlite-'))
    return {
      target: { file: join(folder, 'flotilla.db') },
      drop: async () => rmSync(folder, { recursive: true, force: true }),
    }
  }, 100)
})
