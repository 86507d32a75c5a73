import { AsyncLocalStorage } from 'node:async_hooks'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { AppError } from '../../src/platform/errors.ts'
import { APPLIED_TABLE } from '../../src/store/migrate/applied.ts'
import type { Database, Sql, Value } from '../../src/store/sql.ts'
import { MAX_ROWS, type Driver, type ScriptSql } from '../../src/store/driver/driver.ts'
import { guardDatabase } from '../../src/store/driver/guard.ts'
import { findMigrations, loadMigrations, type Migration } from '../../src/store/migrate/migration-files.ts'
import { sqliteError } from '../../src/store/driver/sqlite-errors.ts'
import { SqliteStatements } from '../../src/store/driver/sqlite-statements.ts'
import { Transaction } from '../../src/store/driver/transaction.ts'
import type { EventQueue } from '../event-queue.ts'
import type { Hooks, Statement } from '../hooks.ts'
import type { Random } from '../random.ts'
import type { Network } from './network.ts'
import type { SimProcess } from './sim-process.ts'
import { StoreMirror } from './store-mirror.ts'

type Row = Record<string, Value>

/** How the store behaves now. Chances are those of one transaction. */
export interface StoreWeather {
  isDown: boolean
  mostDelayMs: number
  conflict: number
  /** The commit is done, and its answer lost. */
  lostAnswer: number
}

export const calmStore: StoreWeather = { isDown: false, mostDelayMs: 0, conflict: 0, lostAnswer: 0 }
/** Of each transaction, in calm weather: that its answer takes longer than its commit, so that a process may die between. */
const SLOW_ANSWER = 0.05
const MOST_RUNS = 10
/** By its text: `pragma query_only` would compile every statement anew. */
const WRITES = /^\s*(insert|update|delete|replace|create|drop|alter)\b|^\s*with\b[^]*\b(insert|update|delete)\b/i
const READ_ONLY = { message: 'attempt to write a readonly database', code: 'ERR_SQLITE_ERROR', errcode: 8 }

/**
 * The real schema and the real statements, in memory and in this thread. A transaction runs within one event: nobody could
 * tell that from one that runs beside others, since transactions are serializable.
 */
export class SimStore {
  weather = calmStore
  readonly mirror: StoreMirror
  readonly #db: DatabaseSync
  readonly #queue: EventQueue
  readonly #network: Network
  readonly #random: Random
  readonly #hooks: Hooks
  readonly #statements: SqliteStatements
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #onceCommitted = new Map<string, () => void>()
  #atCommit: (() => void) | undefined
  /** Who runs a transaction in this event. */
  #open: string | undefined

  constructor(
    queue: EventQueue,
    network: Network,
    random: Random,
    hooks: Hooks,
    more: readonly Pick<Migration, 'text'>[] = [],
  ) {
    this.#queue = queue
    this.#network = network
    this.#random = random
    this.#hooks = hooks
    this.#db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: true })
    this.#db.function('now_ms', { deterministic: false }, () => BigInt(queue.nowMs))
    this.#db.exec(APPLIED_TABLE)
    for (const { text } of [...loadedMigrations(), ...more]) this.#db.exec(text)
    this.mirror = new StoreMirror(this.#db, queue)
    this.#begin = this.#db.prepare('begin')
    this.#commit = this.#db.prepare('commit')
    this.#statements = new SqliteStatements(this.#db, MAX_ROWS, true)
  }

  /** The store as one process reaches it. */
  databaseOf(process: SimProcess): Database {
    return guardDatabase(new SimDriver(this, process))
  }

  /** Calls when this process has next committed something, before it is told so. */
  onceCommitted(name: string, callback: () => void): void {
    this.#onceCommitted.set(name, callback)
  }

  /** Calls when the transaction that runs now is committed, if it is. */
  onceEnded(name: string, callback: () => void): void {
    if (this.#open === name) this.#atCommit = callback
  }

  /** For checks: what is committed. */
  read<T = Row>(text: string, params: readonly Value[] = []): T[] {
    return this.run(text, params) as T[]
  }

  /** To be called between events. */
  assertClosed(): void {
    if (this.#open !== undefined) throw new Error(`${this.#open} waits inside a transaction for something else`)
  }

  close(): void {
    this.#db.close()
  }

  run(text: string, params: readonly Value[]): Row[] {
    return this.#statements.run(text, params) as Row[]
  }

  query(process: SimProcess, text: string, params: readonly Value[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.#reach(process, reject, () => {
        const rows = attempt(() => this.#statement(process, 'read', { text, params }))
        this.#answer(process, () => ('error' in rows ? reject(rows.error) : resolve(rows.value)))
      })
    })
  }

  transaction<T>(process: SimProcess, work: (tx: ScriptSql) => Promise<T>, limitMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const begin = (runs: number): void => {
        this.#reach(process, reject, () => {
          void this.#transact(process, work, limitMs).then((end) => {
            if (end === 'conflict') {
              if (runs < MOST_RUNS) begin(runs + 1)
              else reject(new AppError('busy', 'The database does not keep up: too many conflicts.'))
              return
            }
            const { lostAnswer } = this.weather
            if ('value' in end && lostAnswer > 0 && this.#random.chance(lostAnswer)) {
              this.#later(process, () => reject(new AppError('unavailable', 'The connection to the database broke.')))
            } else this.#answer(process, () => ('error' in end ? reject(end.error) : resolve(end.value)))
          })
        })
      }
      begin(1)
    })
  }

  async #transact<T>(
    process: SimProcess,
    work: (tx: ScriptSql) => Promise<T>,
    limitMs: number,
  ): Promise<Ended<T> | 'conflict'> {
    const { weather } = this
    this.assertClosed()
    this.#open = process.name
    this.#begin.run()
    const statements: Statement[] = []
    const transaction = new Transaction({
      query: async (text, params) => {
        const statement = { text, params }
        statements.push(statement)
        return this.#statement(process, 'query', statement)
      },
      script: async (text) => this.#db.exec(text),
    })
    try {
      const value = await transaction.run(work, process.clock, limitMs)
      if (weather.conflict > 0 && this.#random.chance(weather.conflict)) {
        this.#rollback()
        return 'conflict'
      }
      this.#hooks.beforeCommit?.((text, params = []) => this.run(text, params), statements, process)
      this.#commit.run()
      this.mirror.committed(process, statements)
      this.#atCommit?.()
      this.#tellCommitted(process.name)
      return { value }
    } catch (error) {
      this.#rollback()
      return { error: error as Error }
    } finally {
      this.#atCommit = undefined
      this.#open = undefined
    }
  }

  #tellCommitted(name: string): void {
    const callback = this.#onceCommitted.get(name)
    this.#onceCommitted.delete(name)
    callback?.()
  }

  #rollback(): void {
    this.#db.exec('rollback')
    this.mirror.rolledBack()
  }

  #statement(process: SimProcess, op: 'read' | 'query', given: Statement): Row[] {
    const statement = this.#hooks.statement ? this.#hooks.statement(given, process) : given
    if (!statement) return []
    if (op === 'read' && WRITES.test(statement.text)) throw sqliteError('simulated', { op, ...statement }, READ_ONLY)
    try {
      // Plain objects, as those that come out of the thread of the real store.
      return this.run(statement.text, statement.params).map((row) => ({ ...row }))
    } catch (error) {
      const { message, code, errcode } = error as Error & { code?: string; errcode?: number }
      throw sqliteError('simulated', { op, ...statement }, { message, code, errcode })
    }
  }

  /** What is asked arrives at the store, or there is no store to be reached. */
  #reach(process: SimProcess, reject: (error: Error) => void, act: () => void): void {
    const random = this.#random
    const { isDown, mostDelayMs } = this.weather
    if (isDown || this.#network.isApart(process.name, 'store')) {
      const error = new AppError('unavailable', 'The database cannot be reached.')
      this.#queue.after(random.between(1, 3000), () => process.run(() => reject(error)))
      return
    }
    this.#queue.after(mostDelayMs > 0 ? random.between(0, mostDelayMs) : 1, () => process.run(act))
  }

  #answer(process: SimProcess, answer: () => void): void {
    if (this.weather === calmStore && !this.#random.chance(SLOW_ANSWER)) process.run(answer)
    else this.#later(process, answer)
  }

  #later(process: SimProcess, answer: () => void): void {
    this.#queue.after(this.#random.between(1, Math.max(5, this.weather.mostDelayMs)), () => process.run(answer))
  }
}

type Ended<T> = { value: T } | { error: Error }

/** What the program opens a file or a server for; the schema is there already. */
class SimDriver implements Driver {
  readonly kind = 'sqlite'
  readonly where = 'the simulated store'
  readonly prelude = ''
  readonly findTable = `select 1 as found from sqlite_master where type = 'table' and name = $1`
  readonly listColumns = `select '' as "table", '' as "column" where false`
  readonly #store: SimStore
  readonly #process: SimProcess

  constructor(store: SimStore, process: SimProcess) {
    this.#store = store
    this.#process = process
  }

  read(text: string, params: readonly Value[]): Promise<Row[]> {
    return this.#store.query(this.#process, text, params)
  }

  transaction<T>(work: (tx: ScriptSql) => Promise<T>, limitMs: number): Promise<T> {
    // It runs in an event of the queue, and what is forbidden inside a transaction is known by the async context.
    const inContext = AsyncLocalStorage.snapshot()
    return this.#store.transaction(this.#process, (tx) => inContext(work, tx), limitMs)
  }

  snapshot<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return work({
      query: async <R>(text: string, params: readonly Value[] = []) => (await this.read(text, params)) as R[],
    })
  }

  async end(): Promise<void> {}
}

function attempt<T>(act: () => T): Ended<T> {
  try {
    return { value: act() }
  } catch (error) {
    return { error: error as Error }
  }
}

let migrations: ReturnType<typeof loadMigrations> | undefined

function loadedMigrations(): ReturnType<typeof loadMigrations> {
  migrations ??= loadMigrations(findMigrations())
  return migrations
}
