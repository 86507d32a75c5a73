import type { Value } from '../sql.ts'

type Row = Readonly<Record<string, Value>>

/**
 * For a caller that reads the same rows again and again. An unchanged row is not parsed again: the caller gets the same
 * object as before, so it need not compare its fields either.
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

/** More than most clusters have. Above it, remembering rows costs more than parsing them. */
const MOST_RECENT = 10_000

/** The same for callers that read different rows each time: remembers the rows read lately, shared by all callers. */
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
