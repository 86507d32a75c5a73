import type { Clock } from '../platform/clock.ts'
import { systemClock } from '../platform/clock.ts'
import type { Driver } from './driver.ts'
import { guardDatabase } from './guard.ts'
import { migrate } from './migrate.ts'
import { findMigrations } from './migration-files.ts'
import { openSqlite } from './sqlite.ts'

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
  /** Finishes what was asked for before, refuses what is asked for after. */
  close(): Promise<void>
}

export interface DatabaseDeps {
  /** Times retries and limits. The time inside SQL is the store's own: `now_ms()`. */
  clock?: Clock
  /** Spreads retries: 0 ≤ rng() < 1. */
  rng?: () => number
  /** The folder of migrations; the program's own unless a test brings others. */
  migrations?: string
}

/** Opens the store and brings its schema up to date, or says why it cannot. */
export async function openDatabase(
  target: { file: string } | { url: string },
  deps: DatabaseDeps = {},
): Promise<Database> {
  const { clock = systemClock, rng = Math.random, migrations = findMigrations() } = deps
  const openPostgres = async (url: string): Promise<Driver> =>
    // Loaded when wanted: 3 MB that most machines never need.
    (await import('./postgres.ts')).openPostgres(url, { clock, rng })
  const driver: Driver = 'file' in target ? await openSqlite(target.file, { clock }) : await openPostgres(target.url)
  try {
    await migrate(driver, migrations, clock)
  } catch (error) {
    await driver.end()
    throw error
  }
  return guardDatabase(driver)
}
