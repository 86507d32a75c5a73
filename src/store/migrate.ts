import type { Clock } from '../platform/clock.ts'
import { AppError, messageOf } from '../platform/errors.ts'
import type { Driver, ScriptSql } from './driver.ts'
import { loadMigrations, type Migration } from './migration-files.ts'
import { isUniqueViolation } from './store-errors.ts'

/** A migration may rewrite a large table; the others that start meanwhile wait for it as long. */
const MIGRATION_LIMIT_MS = 10 * 60_000

/** How often a migration that another process has won is looked at again. Once is enough unless processes keep dying. */
const MAX_TRIES = 5

const TABLE = `
  create table if not exists schema_migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    applied_at bigint not null
  )`

const SELECT_APPLIED = 'select version, name, checksum from schema_migrations order by version'

interface Applied {
  version: number
  name: string
  checksum: string
}

/** Applies what is missing, in order, each exactly once even if several processes start together. */
export async function migrate(driver: Driver, folder: string, clock: Clock): Promise<void> {
  const migrations = loadMigrations(folder)
  await createTable(driver)
  const applied = (await driver.read(SELECT_APPLIED, [])) as unknown as Applied[]
  checkApplied(applied, migrations)
  // The usual start ends here and has written nothing: an account without the right to change the schema will do.
  for (const migration of migrations.slice(applied.length)) await applyOne(driver, migration, migrations, clock)
}

async function createTable(driver: Driver): Promise<void> {
  const exists = async (): Promise<boolean> => (await driver.read(driver.findTable, ['schema_migrations'])).length > 0
  if (await exists()) return
  try {
    await driver.transaction((tx) => tx.script(TABLE), MIGRATION_LIMIT_MS)
  } catch (error) {
    // PostgreSQL's "if not exists" fails in several ways when two create at once; the loser has waited for the winner.
    if (!(await exists())) throw error
  }
}

async function applyOne(driver: Driver, migration: Migration, all: Migration[], clock: Clock): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await driver.transaction((tx) => apply(tx, driver.prelude, migration, all, clock), MIGRATION_LIMIT_MS)
      return
    } catch (error) {
      if (isUniqueViolation(error) && tries < MAX_TRIES) continue
      throw error
    }
  }
}

/** The row comes first: whoever inserts second waits on its key, then starts again and sees the migration applied. */
async function apply(tx: ScriptSql, prelude: string, migration: Migration, all: Migration[], clock: Clock) {
  const { version, name, checksum, text } = migration
  const applied = await tx.query<Applied>(SELECT_APPLIED)
  checkApplied(applied, all)
  if (applied.some((row) => row.version === version)) return
  await tx.query('insert into schema_migrations (version, name, checksum, applied_at) values ($1, $2, $3, $4)', [
    version,
    name,
    checksum,
    clock.nowMs(),
  ])
  try {
    if (prelude) await tx.script(prelude)
    await tx.script(text)
  } catch (error) {
    throw new AppError('internal', `Migration ${name} failed and was undone: ${messageOf(error)}`, { cause: error })
  }
}

/** What is applied must be the beginning of what the program knows, word for word. */
function checkApplied(applied: readonly Applied[], migrations: readonly Migration[]): void {
  const newest = applied.at(-1)?.version ?? 0
  if (newest > migrations.length) {
    throw new AppError(
      'usage',
      `The database was written by a newer Flotilla (schema ${newest}, this program knows ${migrations.length}): update the program.`,
    )
  }
  for (const [index, row] of applied.entries()) {
    const migration = migrations[index]
    if (migration?.version !== row.version) {
      throw new AppError(
        'usage',
        `The database has migration ${row.name} but not ${migration?.name}: it was altered by hand.`,
      )
    }
    if (migration.checksum !== row.checksum) {
      throw new AppError(
        'usage',
        `Migration ${migration.name} was edited after it had been applied to this database: restore it and add a new one.`,
      )
    }
  }
}
