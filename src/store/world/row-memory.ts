import type { Value } from '../sql.ts'

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

/** More than most clusters have; of more than that, to remember them costs more than to parse them. */
const MOST_RECENT = 10_000

/** The same for those who read some rows now and others then: what was read lately is remembered, by whoever it was. */
export class RecentRows<T> {
  readonly #known = new Map<string, { row: Row; parsed: T }>()
  readonly #parseOne: (row: Row) => T

  constructor(parseOne: (row: Row) => T) {
    this.#parseOne = parseOne
  }

  /** Rows have an `id`. */
  parse(rows: readonly Row[]): T[] {
    if (rows.length > MOST_RECENT) return rows.map((row) => this.#parseOne(row))
    if (this.#known.size > MOST_RECENT) this.#known.clear()
    return rows.map((row) => {
      const id = String(row['id'])
      const before = this.#known.get(id)
      if (before && isSameRow(before.row, row)) return before.parsed
      const parsed = this.#parseOne(row)
      this.#known.set(id, { row, parsed })
      return parsed
    })
  }
}

function isSameRow(a: Row, b: Row): boolean {
  for (const column of Object.keys(b)) if (a[column] !== b[column]) return false
  return true
}
