import type { Database } from './sql.ts'
import type { Clock } from '../platform/run/clock.ts'
import { systemClock } from '../platform/run/clock.ts'
import type { Driver } from './driver/driver.ts'
import { guardDatabase } from './driver/guard.ts'
import { migrate } from './migrate/migrate.ts'
import { findMigrations } from './migrate/migration-files.ts'
import { openSqlite } from './driver/sqlite.ts'

export interface DatabaseDeps {
  /** Times retries and limits. The time inside SQL is the store's own: `now_ms()`. */
  clock?: Clock
  /** Spreads retries: 0 ≤ rng() < 1. */
  rng?: () => number
  /** Called before the schema is looked at: throws when this store is not to be touched. */
  before?: (driver: Driver) => Promise<void>
  /** The folder of migrations; the program's own unless a test brings others. */
  migrations?: string
}

/** A file, or the URL of a PostgreSQL. */
export type Target = { file: string } | { url: string }

/** Opens the store and brings its schema up to date, or says why it cannot. */
export async function openDatabase(target: Target, deps: DatabaseDeps = {}): Promise<Database> {
  const { clock = systemClock, migrations = findMigrations() } = deps
  const driver = await openDriver(target, deps)
  try {
    await deps.before?.(driver)
    await migrate(driver, migrations, clock)
  } catch (error) {
    await driver.end()
    throw error
  }
  return guardDatabase(driver)
}

/** The store as it is, whatever its schema. */
export async function openDriver(target: Target, deps: DatabaseDeps = {}): Promise<Driver> {
  const { clock = systemClock, rng = Math.random } = deps
  if ('file' in target) return openSqlite(target.file, { clock })
  // Loaded when wanted: 3 MB that most machines never need.
  return (await import('./driver/postgres.ts')).openPostgres(target.url, { clock, rng })
}
