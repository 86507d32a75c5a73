import { join } from 'node:path'
import { describe } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import type { EmptyStore } from '../contract/contract.ts'
import { describeBackup, describeCopy } from './backup-suite.ts'

async function emptyFile(): Promise<EmptyStore> {
  return { target: { file: join(tempFolder(), 'flotilla.db') }, drop: async () => {} }
}

describe('a backup of SQLite in SQLite', () => {
  describeCopy(emptyFile, emptyFile)
  describeBackup(emptyFile)
})
