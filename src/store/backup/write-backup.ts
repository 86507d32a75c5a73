import { createHash } from 'node:crypto'
import { AppError } from '../../platform/errors.ts'
import { checkApplied, findApplied } from '../migrate/applied.ts'
import type { Sql, Value } from '../sql.ts'
import type { Driver, Row } from '../driver/driver.ts'
import { refuseIncomplete } from '../migrate/migrate.ts'
import { loadMigrations, type Migration } from '../migrate/migration-files.ts'
import { schemaAfter, type Table } from '../migrate/schema.ts'
import { FORMAT, leftOut, type BackupHeader } from './format.ts'

/** Held in memory at a time, of one table. */
const PAGE_ROWS = 500

export interface BackupDeps {
  /** The folder of migrations. */
  migrations: string
  /** The version of the program. */
  program: string
  nowMs: number
}

/** Reads one state of the store, page by page, while others write; `sink` takes the text. The schema stays as it is. */
export async function writeBackup(
  driver: Driver,
  { migrations: folder, program, nowMs }: BackupDeps,
  sink: (text: AsyncIterable<string>) => Promise<void>,
): Promise<BackupHeader> {
  const migrations = await knownMigrations(driver, folder)
  const tables = schemaAfter(migrations).filter(({ name }) => !leftOut.has(name))
  return driver.snapshot(async (sql) => {
    const rows: Record<string, number> = {}
    for (const { name } of tables) rows[name] = await countOf(sql, name)
    const header: BackupHeader = {
      flotilla: 'backup',
      format: FORMAT,
      schema: migrations.length,
      program,
      made_at: nowMs,
      store: driver.kind,
      rows,
    }
    await sink(textOf(sql, header, tables))
    return header
  })
}

/** The migrations that a store has had; refused when it is not one that this program can read whole. */
export async function knownMigrations(driver: Driver, folder: string): Promise<Migration[]> {
  const all = loadMigrations(folder)
  const applied = await findApplied(driver)
  if (!applied || applied.length === 0) {
    throw new AppError('usage', `The database ${driver.where} holds no Flotilla store.`)
  }
  checkApplied(applied, all)
  const known = all.slice(0, applied.length)
  await refuseIncomplete(driver, known)
  return known
}

export async function countOf(sql: Sql, table: string): Promise<number> {
  const [row] = await sql.query<{ count: number }>(`select count(*) as count from ${table}`)
  return row!.count
}

async function* textOf(sql: Sql, header: BackupHeader, tables: readonly Table[]): AsyncGenerator<string> {
  const hash = createHash('sha256')
  let total = 0
  const hashed = (text: string): string => {
    hash.update(text)
    return text
  }
  yield hashed(line(header))
  for (const table of tables) {
    for await (const page of pagesOf(sql, table)) {
      total += page.length
      yield hashed(page.map((row) => line({ table: table.name, row })).join(''))
    }
  }
  yield line({ flotilla: 'end', rows: total, sha256: hash.digest('hex') })
}

async function* pagesOf(sql: Sql, { name, columns, key }: Table): AsyncGenerator<Row[]> {
  const select = `select ${columns.map((column) => column.name).join(', ')} from ${name}`
  const order = `order by ${key.join(', ')} limit ${PAGE_ROWS}`
  const behind = `where (${key.join(', ')}) > (${key.map((_, index) => `$${index + 1}`).join(', ')})`
  let last: Value[] | undefined
  for (;;) {
    const page = await sql.query<Row>(last ? `${select} ${behind} ${order}` : `${select} ${order}`, last)
    if (page.length > 0) yield page
    if (page.length < PAGE_ROWS) return
    last = key.map((column) => page.at(-1)![column]!)
  }
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}
