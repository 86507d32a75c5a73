import type { Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import { APPLIED_TABLE, checkApplied, findApplied, listApplied, newer, type Applied } from './applied.ts'
import { keepCopy } from './copy-before.ts'
import type { Driver, ScriptSql } from '../driver/driver.ts'
import { loadMigrations, type Migration } from './migration-files.ts'
import { missingIn, schemaAfter } from './schema.ts'
import { wayBack } from '../driver/sqlite-errors.ts'
import { isUniqueViolation } from '../driver/store-errors.ts'

/** Migrations may rewrite large tables; the others that start meanwhile wait for it as long. */
const MIGRATION_LIMIT_MS = 10 * 60_000

/** How often migrations that another process has won are looked at again. Once is enough unless processes keep dying. */
const MAX_TRIES = 5

/** The migration that made room for `works_from`; before it a store tells nothing of programs older than itself. */
const WORKS_FROM_SINCE = 9

const SELECT_NEEDED = `
  select max(works_from) as needed, sum(case when works_from is null then 1 else 0 end) as unsaid
  from schema_migrations where version > $1`

/**
 * Applies what is missing, in order, each exactly once even if several processes start together. All of it is one
 * transaction: when one fails, or the process dies, the store is as it was and the program before can still use it.
 */
export async function migrate(driver: Driver, folder: string, clock: Clock): Promise<void> {
  const migrations = loadMigrations(folder)
  await createTable(driver, migrations)
  const applied = (await findApplied(driver)) ?? []
  checkApplied(applied.slice(0, migrations.length), migrations)
  if (applied.length > migrations.length) await refuseTooNew(driver, applied, migrations)
  await refuseIncomplete(driver, migrations.slice(0, applied.length))
  // The usual start ends here and has written nothing: an account without the right to change the schema will do.
  if (applied.length >= migrations.length) return
  const copy = applied.length === 0 ? undefined : await keepCopy(driver, applied.length)
  try {
    await applyAll(driver, migrations, clock)
  } catch (error) {
    if (!copy || !(error instanceof MigrationFailed)) throw error
    throw new AppError('internal', `${error.message} A copy from before it is in ${copy.file}.`, { cause: error.cause })
  }
  copy?.drop()
}

/** A newer program has been here. We may work on what it left if it says so. */
async function refuseTooNew(driver: Driver, applied: readonly Applied[], migrations: readonly Migration[]) {
  const known = migrations.length
  const [row] = known >= WORKS_FROM_SINCE ? await driver.read(SELECT_NEEDED, [known]) : []
  const isUsable = row !== undefined && row['unsaid'] === 0 && Number(row['needed']) <= known
  if (!isUsable) throw newer(applied, migrations)
}

async function createTable(driver: Driver, migrations: readonly Migration[]): Promise<void> {
  const others = await foundOf(driver, tableNames(migrations))
  const exists = async (): Promise<boolean> => (await driver.read(driver.findTable, ['schema_migrations'])).length > 0
  if (await exists()) return
  // Checked first: a process that starts at the same time makes schema_migrations before any of them.
  if (others.length > 0) {
    throw incomplete(driver, `has ${others.join(', ')} but not schema_migrations, which says what they are`)
  }
  try {
    await driver.transaction((tx) => tx.script(APPLIED_TABLE), MIGRATION_LIMIT_MS)
  } catch (error) {
    // PostgreSQL's "if not exists" fails in several ways when two create at once; the loser has waited for the winner.
    if (!(await exists())) throw error
  }
}

function tableNames(migrations: readonly Migration[]): string[] {
  return migrations.flatMap(({ text }) => [...text.matchAll(/^create table (\w+)/gm)].map((match) => match[1]!))
}

async function foundOf(driver: Driver, names: readonly string[]): Promise<string[]> {
  const found = await driver.read(driver.listColumns, [])
  const there = new Set(found.map((row) => row['table']))
  return names.filter((name) => there.has(name))
}

/** Without this check a missing table would only be noticed by its first query, in the middle of a start. */
export async function refuseIncomplete(driver: Driver, applied: readonly Migration[]): Promise<void> {
  const missing = await missingIn(driver, schemaAfter(applied))
  if (missing.length > 0) throw incomplete(driver, `lacks ${missing.join(', ')}: it was damaged or altered by hand`)
}

function incomplete({ kind, where }: Driver, what: string): AppError {
  const back =
    kind === 'sqlite'
      ? wayBack(where)
      : 'Nothing was changed. The way back: flotilla db import <backup> into a new database, or one without these tables.'
  return new AppError('usage', `The database ${where} ${what}. ${back}`)
}

async function applyAll(driver: Driver, migrations: readonly Migration[], clock: Clock): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await driver.transaction(async (tx) => {
        const applied = await listApplied(tx)
        checkApplied(applied.slice(0, migrations.length), migrations)
        const missing = migrations.slice(applied.length)
        for (const migration of missing) await apply(tx, driver.prelude, migration, clock)
      }, MIGRATION_LIMIT_MS)
      return
    } catch (error) {
      if (isUniqueViolation(error) && tries < MAX_TRIES) continue
      throw error
    }
  }
}

class MigrationFailed extends AppError {}

/** The row comes first: a second process waits on its key, then starts again and sees the migration applied. */
async function apply(tx: ScriptSql, prelude: string, migration: Migration, clock: Clock) {
  const { version, name, checksum, text, worksFrom } = migration
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
    const back = 'The database is as it was: go back to the Flotilla before this one, or mend what is in the way.'
    throw new MigrationFailed('internal', `Migration ${name} failed and was undone: ${messageOf(error)}. ${back}`, {
      cause: error,
    })
  }
  if (version <= WORKS_FROM_SINCE) return
  await tx.query('update schema_migrations set works_from = $1 where version = $2', [worksFrom, version])
}
