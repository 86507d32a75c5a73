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

/** The migration that made room for `works_from`; before it a store tells nothing of programs older than itself. */
const WORKS_FROM_SINCE = 9

const SELECT_APPLIED = 'select version, name, checksum from schema_migrations order by version'

const SELECT_NEEDED = `
  select max(works_from) as needed, sum(case when works_from is null then 1 else 0 end) as unsaid
  from schema_migrations where version > $1`

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
  const known = applied.slice(0, migrations.length)
  checkApplied(known, migrations)
  if (applied.length > known.length) await checkNewer(driver, applied, migrations)
  // The usual start ends here and has written nothing: an account without the right to change the schema will do.
  for (const migration of migrations.slice(applied.length)) await applyOne(driver, migration, migrations, clock)
}

/** A newer program has been here. We may work on what it left if it says so. */
async function checkNewer(
  driver: Driver,
  applied: readonly Applied[],
  migrations: readonly Migration[],
): Promise<void> {
  const known = migrations.length
  const newest = applied.at(-1)!.version
  const [row] = known >= WORKS_FROM_SINCE ? await driver.read(SELECT_NEEDED, [known]) : []
  const isUsable = row !== undefined && row['unsaid'] === 0 && Number(row['needed']) <= known
  if (isUsable) return
  throw new AppError(
    'usage',
    `The database was written by a newer Flotilla (schema ${newest}, this program knows ${known}): update the program.`,
  )
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
  const { version, name, checksum, text, worksFrom } = migration
  const applied = await tx.query<Applied>(SELECT_APPLIED)
  checkApplied(applied.slice(0, all.length), all)
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
  if (version <= WORKS_FROM_SINCE) return
  await tx.query('update schema_migrations set works_from = $1 where version = $2', [worksFrom, version])
}

/** What is applied must be the beginning of what the program knows, word for word. */
function checkApplied(applied: readonly Applied[], migrations: readonly Migration[]): void {
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
