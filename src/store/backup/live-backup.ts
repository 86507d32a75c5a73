import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openDriver, type Target } from '../database.ts'
import type { Database } from '../sql.ts'
import type { BackupHeader } from './format.ts'
import { writeBackup, type BackupDeps } from './write-backup.ts'

/**
 * A backup of a store that this process has open, even if its file has been deleted since. A file is copied first, so that
 * a slow reader holds up nothing; the copy is deleted at the end.
 */
export async function writeLiveBackup(
  db: Database,
  target: Target,
  deps: BackupDeps,
  sink: (text: AsyncIterable<string>) => Promise<void>,
): Promise<BackupHeader> {
  if (!db.copyTo || !('file' in target)) return withDriver(target, (driver) => writeBackup(driver, deps, sink))
  const folder = scratchNear(target.file)
  try {
    const file = join(folder, 'flotilla.db')
    await db.copyTo(file)
    return await withDriver({ file }, (driver) => writeBackup(driver, deps, sink))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** On the disk of the database, where there is room for it; its folder may be gone, too. */
function scratchNear(file: string): string {
  try {
    return mkdtempSync(join(dirname(file), '.export-'))
  } catch {
    return mkdtempSync(join(tmpdir(), 'flotilla-export-'))
  }
}

async function withDriver<T>(target: Target, work: (driver: Awaited<ReturnType<typeof openDriver>>) => Promise<T>) {
  const driver = await openDriver(target)
  try {
    return await work(driver)
  } finally {
    await driver.end()
  }
}
