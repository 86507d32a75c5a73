import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Value } from '../sql.ts'
import { loadMigrations, type Migration } from '../migrate/migration-files.ts'
import { APPLIED_TABLE } from '../migrate/applied.ts'
import { schemaAfter, type Column, type Table } from '../migrate/schema.ts'
import { leftOut, type BackupHeader, type BackupRow } from './format.ts'
import { readBackup, unusable } from './read-backup.ts'

/** A backup that has been read whole and found good, in the schema of this program. */
export interface Staged {
  header: BackupHeader
  /** Every table there is, parents first; also those that no backup has rows of. */
  tables: readonly Table[]
  /** All rows of a table, in parts of so many. */
  rows(table: Table, most: number): Iterable<Value[][]>
  dispose(): void
}

/**
 * Reads a backup into a database of its own, in the schema it was written in, and brings that up to date. Runs every check,
 * the schema's own included, before the target store is touched.
 */
export async function stageBackup(path: string, folder: string): Promise<Staged> {
  const migrations = loadMigrations(folder)
  const place = mkdtempSync(join(tmpdir(), 'flotilla-import-'))
  let stage: Stage | undefined
  const dispose = (): void => {
    stage?.db.close()
    rmSync(place, { recursive: true, force: true })
  }
  try {
    await readBackup(path, {
      header: (header) => (stage = new Stage(path, join(place, 'staged.db'), header, migrations)),
      row: (row, line) => stage!.insert(row, line),
    })
    stage!.finish(migrations)
  } catch (error) {
    dispose()
    throw error
  }
  const { db, header } = stage!
  return { header, tables: schemaAfter(migrations), rows: (table, most) => rowsOf(db, table, most), dispose }
}

interface Taken {
  table: Table
  insert: StatementSync
}

class Stage {
  readonly #path: string
  readonly header: BackupHeader
  readonly db: DatabaseSync
  readonly #tables: ReadonlyMap<string, Taken>

  constructor(path: string, file: string, header: BackupHeader, migrations: readonly Migration[]) {
    this.#path = path
    this.header = header
    const { schema } = header
    if (schema > migrations.length) {
      const what = `it was written by a newer Flotilla (schema ${schema}, this program knows ${migrations.length})`
      throw unusable(path, `${what}: update the program`)
    }
    const tables = schemaAfter(migrations.slice(0, schema)).filter(({ name }) => !leftOut.has(name))
    const strange = Object.keys(header.rows).find((name) => !tables.some((table) => table.name === name))
    if (strange !== undefined) throw unusable(path, `its first line names "${strange}", which schema ${schema} has not`)
    // Only this process opens it, and after a crash it is of no use.
    this.db = new DatabaseSync(file, { enableForeignKeyConstraints: true })
    this.db.exec('pragma journal_mode = off; pragma synchronous = off')
    this.db.function('now_ms', () => BigInt(header.made_at))
    this.db.exec(APPLIED_TABLE)
    for (const { text } of migrations.slice(0, schema)) this.db.exec(text)
    for (const { name } of tables.toReversed()) this.db.exec(`delete from ${name}`)
    this.#tables = new Map(tables.map((table) => [table.name, { table, insert: this.db.prepare(insertInto(table)) }]))
    this.db.exec('begin')
  }

  insert({ table: name, row }: BackupRow, line: number): void {
    const { table, insert } = this.#tables.get(name)!
    const strange = Object.keys(row).find((key) => !table.columns.some((column) => column.name === key))
    if (strange !== undefined) throw unusable(this.#path, `"${name}" has no column "${strange}"`, line)
    const values = table.columns.map((column) => {
      const value = Object.hasOwn(row, column.name) ? row[column.name]! : undefined
      const problem = problemOf(column, value)
      if (problem) throw unusable(this.#path, `${name}.${column.name} ${problem}`, line)
      return typeof value === 'number' ? BigInt(value) : (value as string | null)
    })
    try {
      insert.run(...values)
    } catch (error) {
      throw unusable(this.#path, `${name} refuses the row: ${messageOf(error)}`, line)
    }
  }

  finish(migrations: readonly Migration[]): void {
    this.db.exec('commit')
    for (const { name, text } of migrations.slice(this.header.schema)) {
      try {
        this.db.exec(text)
      } catch (error) {
        const what = `Migration ${name} failed on what is in the backup ${this.#path}: ${messageOf(error)}`
        throw new AppError('internal', `${what}. Nothing was written.`, { cause: error })
      }
    }
  }
}

function insertInto({ name, columns }: Table): string {
  const names = columns.map((column) => column.name)
  return `insert into ${name} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`
}

function problemOf({ type, required }: Column, value: Value | undefined): string | undefined {
  if (value === undefined) return 'is missing'
  if (value === null) return required ? 'may not be null' : undefined
  if (type === 'number') return Number.isSafeInteger(value) ? undefined : 'is not a whole number'
  if (typeof value !== 'string') return 'is not text'
  // PostgreSQL takes neither.
  return value.includes('\0') || !value.isWellFormed() ? 'holds a character that cannot be stored' : undefined
}

function* rowsOf(db: DatabaseSync, { name, columns }: Table, most: number): Generator<Value[][]> {
  const names = columns.map((column) => column.name)
  let part: Value[][] = []
  for (const row of db.prepare(`select ${names.join(', ')} from ${name}`).iterate()) {
    part.push(names.map((column) => row[column] as Value))
    if (part.length < most) continue
    yield part
    part = []
  }
  if (part.length > 0) yield part
}
