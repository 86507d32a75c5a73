import type { Value } from './database.ts'

type Row = Readonly<Record<string, Value>>

/**
 * For one who reads the same rows again and again, most of which have not changed: such a row is not parsed again, and what
 * was made of it is handed out again, the same object, so that whoever compares or views it need not look into it either.
 */
export class RowMemory<T> {
  #known = new Map<string, { row: Row; parsed: T }>()

  /** Rows have an `id`. What is not among them is forgotten. */
  parse(rows: readonly Row[], parseOne: (row: Row) => T): T[] {
    const known = new Map<string, { row: Row; parsed: T }>()
    const all = rows.map((row) => {
      const id = String(row['id'])
      const before = this.#known.get(id)
      const now = before && isSameRow(before.row, row) ? before : { row, parsed: parseOne(row) }
      known.set(id, now)
      return now.parsed
    })
    this.#known = known
    return all
  }
}

function isSameRow(a: Row, b: Row): boolean {
  for (const column of Object.keys(b)) if (a[column] !== b[column]) return false
  return true
}
