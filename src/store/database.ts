import type { Clock } from '../platform/run/clock.ts'
import { systemClock } from '../platform/run/clock.ts'
import type { Driver } from './driver/driver.ts'
import { guardDatabase } from './driver/guard.ts'
import { migrate } from './migrate/migrate.ts'
import { findMigrations } from './migrate/migration-files.ts'
import { openSqlite } from './driver/sqlite.ts'

/** What a column holds and a parameter may be: text, a number (bigint columns too), or null. Flags are 0 and 1. */
export type Value = string | number | null

export interface Sql {
  /**
   * One statement with `$1` placeholders, in both dialects. Rows are plain objects; a change answers with the rows of
   * its `returning`. Whole numbers must be safe integers, in both directions. The first statement that fails ends its
   * transaction, even if the failure is caught.
   */
  query<T = Record<string, Value>>(text: string, params?: readonly Value[]): Promise<T[]>
}

export interface Database extends Sql {
  readonly kind: 'sqlite' | 'postgres'
  /** One statement outside a transaction: a snapshot, never waits for a writer. Writing here is refused. */
  query<T = Record<string, Value>>(text: string, params?: readonly Value[]): Promise<T[]>
  /**
   * Serializable. `work` may run several times: it must have no effect outside `tx`. It runs at most 30 s, and its
   * statements run one after the other. `unavailable` may mean that the commit's answer was lost: look before repeating.
   */
  transaction<T>(work: (tx: Sql) => Promise<T>): Promise<T>
  /** Writes all of it into another file (0600), where the store is a file. */
  copyTo?: ((file: string) => Promise<void>) | undefined
  /** Finishes what was asked for before, refuses what is asked for after. */
  close(): Promise<void>
}

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
