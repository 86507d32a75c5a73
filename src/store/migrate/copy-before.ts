import { renameSync, rmSync, statSync } from 'node:fs'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Driver } from '../driver/driver.ts'

export interface Copy {
  file: string
  drop(): void
}

/** Above this a copy takes more time and disk than it is worth: what is migrated is undone as a whole anyway. */
const MOST_BYTES = 2 ** 30

/**
 * Copies a store that is a file before it is migrated; the copy stays until that has succeeded. One that an earlier try
 * left behind is of the same state, and makes room once the new one is whole.
 */
export async function keepCopy(driver: Driver, version: number): Promise<Copy | undefined> {
  if (!driver.copyTo || statSync(driver.where).size > MOST_BYTES) return undefined
  const file = `${driver.where}.schema-${version}`
  const temporary = `${file}.${process.pid}.new`
  try {
    rmSync(temporary, { force: true })
    await driver.copyTo(temporary)
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    const what = `Before its schema is brought up to date, ${driver.where} is copied to ${file}, and that failed`
    throw new AppError('usage', `${what}: ${messageOf(error)} Nothing was changed.`, { cause: error })
  }
  return { file, drop: () => rmSync(file, { force: true }) }
}
