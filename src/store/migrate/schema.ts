import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { APPLIED_TABLE } from './applied.ts'
import type { Driver } from '../driver/driver.ts'
import type { Migration } from './migration-files.ts'

export interface Column {
  name: string
  type: 'text' | 'number'
  /** Never null. */
  required: boolean
}

export interface Table {
  name: string
  columns: readonly Column[]
  /** The columns of its primary key. */
  key: readonly string[]
}

/**
 * The tables that these migrations make (the one that lists them aside), each after those it refers to. Found by applying them to a database in memory: the
 * text of the migrations is the only place where the schema is written down.
 */
export function schemaAfter(migrations: readonly Migration[]): Table[] {
  const db = new DatabaseSync(':memory:')
  try {
    db.function('now_ms', () => 0n)
    db.exec(APPLIED_TABLE)
    for (const { text } of migrations) db.exec(text)
    return tablesOf(db).filter(({ name }) => name !== 'schema_migrations')
  } finally {
    db.close()
  }
}

function tablesOf(db: DatabaseSync): Table[] {
  const names = db.prepare(`select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`).all()
  let left = names.map((row) => String(row['name']))
  const ordered: string[] = []
  while (left.length > 0) {
    const early = left.filter((name) => parentsOf(db, name).some((parent) => parent !== name && left.includes(parent)))
    assert(early.length < left.length, `the tables ${left.join(', ')} refer to each other in a circle`)
    ordered.push(...left.filter((name) => !early.includes(name)))
    left = early
  }
  return ordered.map((name) => tableOf(db, name))
}

function parentsOf(db: DatabaseSync, name: string): string[] {
  const found = db.prepare('select "table" as parent from pragma_foreign_key_list(?)').all(name)
  return found.map((row) => String(row['parent']))
}

function tableOf(db: DatabaseSync, name: string): Table {
  const found = db.prepare('select name, type, "notnull", pk from pragma_table_info(?) order by cid').all(name)
  const columns = found.map((row) => ({
    name: String(row['name']),
    type: String(row['type']).toLowerCase() === 'text' ? ('text' as const) : ('number' as const),
    // SQLite alone would take null as a key.
    required: row['notnull'] === 1 || Number(row['pk']) > 0,
  }))
  const key = found.filter((row) => Number(row['pk']) > 0).toSorted((a, b) => Number(a['pk']) - Number(b['pk']))
  return { name, columns, key: key.map((row) => String(row['name'])) }
}

/** What a store lacks of the tables it should have: `rules`, or `rules.source` for a column. */
export async function missingIn(driver: Driver, tables: readonly Table[]): Promise<string[]> {
  const there = new Map<string, Set<string>>()
  for (const { table, column } of (await driver.read(driver.listColumns, [])) as { table: string; column: string }[]) {
    const columns = there.get(table)
    if (columns) columns.add(column)
    else there.set(table, new Set([column]))
  }
  return tables.flatMap(({ name, columns }) => {
    const found = there.get(name)
    if (!found) return [name]
    return columns.flatMap((column) => (found.has(column.name) ? [] : [`${name}.${column.name}`]))
  })
}
