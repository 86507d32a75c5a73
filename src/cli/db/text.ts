import { formatBytes } from '../../core/lib/bytes.ts'
import { counted } from '../terminal/format.ts'

/** What is told of a store. */
export interface StoreText {
  kind: 'sqlite' | 'postgres'
  where: string
  bytes: number
  schema: number
  newest_schema: number
  rows: Readonly<Record<string, number>>
  problems: readonly string[]
}

export function storeLines({ kind, where, bytes, schema, newest_schema: newest, rows }: StoreText): string[] {
  const name = kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'
  const later = schema < newest ? `, which the next start of a frontend brings to ${newest}` : ''
  return [`${name} ${where}, ${formatBytes(bytes)}, schema ${schema}${later}`, '', ...rowLines(rows)]
}

export function checkLines(store: StoreText): string[] {
  const { kind, where, schema, rows, problems } = store
  if (problems.length > 0) return [`The database ${where} has problems:`, ...problems.map((problem) => `  ${problem}`)]
  const file = kind === 'sqlite' ? 'the file is sound, ' : ''
  const all = counted(totalOf(rows), 'row')
  return [`The database ${where} is fine: ${file}schema ${schema} with all its migrations and tables, ${all}.`]
}

/** What went into a backup or came out of one. */
export function rowLines(rows: Readonly<Record<string, number>>): string[] {
  const width = Math.max(0, ...Object.keys(rows).map((name) => name.length))
  return Object.entries(rows).map(([name, count]) => `  ${name.padEnd(width)}  ${count}`)
}

export function totalOf(rows: Readonly<Record<string, number>>): number {
  return Object.values(rows).reduce((sum, count) => sum + count, 0)
}
