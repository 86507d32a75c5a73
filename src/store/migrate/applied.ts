import { AppError } from '../../platform/errors.ts'
import type { Sql } from '../sql.ts'
import type { Driver } from '../driver/driver.ts'
import type { Migration } from './migration-files.ts'

/** A migration that a store has had, as it wrote it down itself. */
export interface Applied {
  version: number
  name: string
  checksum: string
}

/** What a store writes them down in. Migrations may add to it. */
export const APPLIED_TABLE = `
  create table if not exists schema_migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    applied_at bigint not null
  )`

const SELECT_APPLIED = 'select version, name, checksum from schema_migrations order by version'

export function listApplied(tx: Sql): Promise<Applied[]> {
  return tx.query<Applied>(SELECT_APPLIED)
}

/** The same before there is anything: nothing when there is not even the table. */
export async function findApplied(driver: Driver): Promise<Applied[] | undefined> {
  const [found] = await driver.read(driver.findTable, ['schema_migrations'])
  return found && ((await driver.read(SELECT_APPLIED, [])) as unknown as Applied[])
}

/** What is applied must be the beginning of what the program knows, word for word. */
export function checkApplied(applied: readonly Applied[], migrations: readonly Migration[]): void {
  if (applied.length > migrations.length) throw newer(applied, migrations)
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

export function newer(applied: readonly Applied[], { length }: readonly Migration[]): AppError {
  const newest = applied.at(-1)!.version
  const text = `The database was written by a newer Flotilla (schema ${newest}, this program knows ${length})`
  return new AppError('usage', `${text}: update the program.`)
}
