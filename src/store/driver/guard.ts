import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { AppError } from '../../platform/errors.ts'
import type { Database, Sql, Value } from '../sql.ts'
import { LIMIT_MS, type Driver } from './driver.ts'
import { checkStatement } from './statement.ts'

/** Calls under way or waiting. More means that the store has long stopped keeping up: say so instead of piling up. */
const MAX_CALLS = 10_000

/** The driver with what both dialects share: nothing nested, nothing after close, a bounded queue. */
export function guardDatabase(driver: Driver): Database {
  return new GuardedDatabase(driver)
}

class GuardedDatabase implements Database {
  readonly kind: Database['kind']
  readonly copyTo: Database['copyTo']
  readonly #driver: Driver
  readonly #inside = new AsyncLocalStorage<{ open: boolean }>()
  readonly #calls = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(driver: Driver) {
    this.kind = driver.kind
    this.#driver = driver
    if (driver.copyTo) this.copyTo = (file) => this.#call(async () => driver.copyTo!(file))
  }

  async query<T>(text: string, params: readonly Value[] = []): Promise<T[]> {
    // It would not see the transaction's own writes, and would not be serializable with them.
    this.#refuseInside('query() of the store inside a transaction: use tx.query()')
    checkStatement(text, params)
    return this.#call(async () => (await this.#driver.read(text, params)) as T[])
  }

  async transaction<T>(work: (tx: Sql) => Promise<T>): Promise<T> {
    // SQLite would wait for itself for ever, PostgreSQL as soon as its connections run out.
    this.#refuseInside('transaction() inside a transaction: pass tx on')
    const inside = { open: true }
    return this.#call(() =>
      this.#inside.run(inside, async () => {
        try {
          return await this.#driver.transaction(work, LIMIT_MS)
        } finally {
          inside.open = false
        }
      }),
    )
  }

  async close(): Promise<void> {
    this.#refuseInside('close() inside a transaction')
    this.#closing ??= Promise.allSettled(this.#calls).then(() => this.#driver.end())
    return this.#closing
  }

  #refuseInside(what: string): void {
    assert(!this.#inside.getStore()?.open, what)
  }

  async #call<T>(start: () => Promise<T>): Promise<T> {
    if (this.#closing) throw new AppError('unavailable', 'The database is closed: Flotilla is stopping.')
    if (this.#calls.size >= MAX_CALLS) {
      throw new AppError('busy', `The database does not keep up: ${MAX_CALLS} calls wait for it.`, { retryAfterS: 1 })
    }
    const call = start()
    this.#calls.add(call)
    try {
      return await call
    } finally {
      this.#calls.delete(call)
    }
  }
}
