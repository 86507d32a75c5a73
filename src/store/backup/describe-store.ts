import { messageOf } from '../../platform/errors.ts'
import { checkApplied, findApplied, type Applied } from '../migrate/applied.ts'
import type { Driver } from '../driver/driver.ts'
import { loadMigrations } from '../migrate/migration-files.ts'
import { missingIn, schemaAfter } from '../migrate/schema.ts'
import { countOf } from './write-backup.ts'

export interface StoreDescription {
  kind: Driver['kind']
  /** The file, or host and port. */
  where: string
  bytes: number
  /** The schema it has, and the one that this program brings it to. */
  schema: number
  newest_schema: number
  migrations: readonly Applied[]
  /** By table; nothing of a table that is not there. */
  rows: Record<string, number>
  /** What keeps a frontend from starting on it; empty when nothing does. */
  problems: string[]
}

/** What is in a store, and whether a frontend would accept it. Changes nothing. An SQLite file was checked before. */
export async function describeStore(driver: Driver, folder: string): Promise<StoreDescription> {
  const { kind, where } = driver
  const all = loadMigrations(folder)
  const applied = (await findApplied(driver)) ?? []
  const problems = [...appliedProblem(() => checkApplied(applied, all))]
  const tables = schemaAfter(all.slice(0, applied.length))
  const missing = await missingIn(driver, tables)
  if (missing.length > 0) problems.push(`It lacks ${missing.join(', ')}.`)
  const there = tables.filter(({ name }) => !missing.includes(name))
  const rows = await driver.snapshot(async (sql) => {
    const counts: Record<string, number> = {}
    for (const { name } of there) counts[name] = await countOf(sql, name)
    return counts
  })
  problems.push(...(await danglingRows(driver)))
  const bytes = await sizeOf(driver)
  const known = { schema: applied.length, newest_schema: all.length, migrations: applied }
  return { kind, where, bytes, ...known, rows, problems }
}

function appliedProblem(check: () => void): string[] {
  try {
    check()
    return []
  } catch (error) {
    return [messageOf(error)]
  }
}

/** PostgreSQL has no way to get there; an SQLite file that another program has written to may. */
async function danglingRows(driver: Driver): Promise<string[]> {
  if (driver.kind !== 'sqlite') return []
  const found = await driver.read(
    'select "table", parent, count(*) as count from pragma_foreign_key_check group by 1, 2',
    [],
  )
  return found.map(
    (row) => `${row['count']} rows of "${row['table']}" refer to rows of "${row['parent']}" that are not there.`,
  )
}

/** With what is still in the log of an SQLite file. */
async function sizeOf(driver: Driver): Promise<number> {
  const text =
    driver.kind === 'sqlite'
      ? 'select page_count * page_size as bytes from pragma_page_count, pragma_page_size'
      : 'select pg_database_size(current_database()) as bytes'
  const [row] = await driver.read(text, [])
  return Number(row!['bytes'])
}
