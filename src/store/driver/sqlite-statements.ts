import type { DatabaseSync, StatementSync } from 'node:sqlite'

// Part of the database thread, so it imports nothing but node:*; the simulator runs its statements by it as well.

/** Statements kept compiled, per connection. The program has fewer texts than this; the limit is for the day it has not. */
const MAX_STATEMENTS = 256

interface Compiled {
  statement: StatementSync
  /** Of its placeholders, in their order. */
  names: readonly string[]
}

type Named = Record<string, string | number | bigint | null>

/** Runs statements with `$1` placeholders on one connection to SQLite, as the contract of the store asks for. */
export class SqliteStatements {
  readonly #db: DatabaseSync
  readonly #maxRows: number
  readonly #readsAll: boolean
  readonly #statements = new Map<string, Compiled>()

  /** `readsAll`: memory is no concern, and reading row by row takes longer. */
  constructor(db: DatabaseSync, maxRows: number, readsAll = false) {
    this.#db = db
    this.#maxRows = maxRows
    this.#readsAll = readsAll
  }

  run(text: string, params: readonly (string | number | null)[]): unknown[] {
    const { statement, names } = this.#prepare(text)
    if (names.length !== params.length) {
      throw new Error(`the statement has ${names.length} placeholders and ${params.length} parameters`)
    }
    const named: Named = {}
    for (let i = 0; i < params.length; i += 1) {
      const value = params[i]!
      named[names[i]!] = Number.isInteger(value) ? BigInt(value) : value
    }
    try {
      return this.#readsAll ? this.#readAll(statement, named) : this.#readRows(statement, named)
    } catch (error) {
      // Node would throw the same failure again at its next use, whatever that asks for.
      this.#statements.delete(text)
      throw error
    }
  }

  #readRows(statement: StatementSync, named: Named): unknown[] {
    const rows: unknown[] = []
    for (const row of statement.iterate(named)) {
      if (rows.length === this.#maxRows) throw this.#tooMany()
      rows.push(row)
    }
    return rows
  }

  #readAll(statement: StatementSync, named: Named): unknown[] {
    const rows = statement.all(named)
    if (rows.length > this.#maxRows) throw this.#tooMany()
    return rows
  }

  #tooMany(): Error {
    return new Error(`the answer has more than ${this.#maxRows} rows`)
  }

  #prepare(text: string): Compiled {
    let entry = this.#statements.get(text)
    // Taken out and put back at the end: the oldest is always the first.
    if (entry) this.#statements.delete(text)
    else entry = this.#compile(text)
    this.#statements.set(text, entry)
    if (this.#statements.size > MAX_STATEMENTS) this.#statements.delete(this.#statements.keys().next().value!)
    return entry
  }

  #compile(text: string): Compiled {
    const statement = this.#db.prepare(text)
    // SQLite silently ignores what follows the first statement.
    if (/[^\s;]/.test(text.slice(statement.sourceSQL.length))) throw new Error('more than one statement')
    const code = text.replaceAll(/'[^']*'|--[^\n]*/g, '')
    const numbers = [...code.matchAll(/\$(\d+)/g)].map((match) => Number(match[1]))
    const names = Array.from({ length: Math.max(0, ...numbers) }, (_, index) => `$${index + 1}`)
    return { statement, names }
  }
}
