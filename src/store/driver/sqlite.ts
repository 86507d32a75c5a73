import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sql, Value } from '../sql.ts'
import { MAX_ROWS, type Driver, type Row, type ScriptSql } from './driver.ts'
import type { Command, Reply } from './sqlite-thread.ts'
import { sqliteError } from './sqlite-errors.ts'
import { Transaction } from './transaction.ts'

/** How long a transaction waits for another process that is writing to the same file. */
const BUSY_TIMEOUT_MS = 5_000

/**
 * Caps, not reservations: the thread uses a few MB. A result that does not fit ends the thread, not the process; the largest
 * there is, all of 100,000 replicas with their claims, takes 150 MB.
 */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 8, stackSizeMb: 2 }

/** SQLite in a thread of its own, so that a slow disk never stalls a request. */
export async function openSqlite(file: string, { clock }: { clock: Clock }): Promise<Driver> {
  const thread = new DatabaseThread(file)
  try {
    await thread.ask({ op: 'open', file, busyTimeoutMs: BUSY_TIMEOUT_MS, maxRows: MAX_ROWS })
  } catch (error) {
    await thread.stop()
    throw error
  }
  return new SqliteDriver(file, thread, clock)
}

class SqliteDriver implements Driver {
  readonly kind = 'sqlite'
  readonly where: string
  readonly prelude = ''
  readonly findTable = `select 1 as found from sqlite_master where type = 'table' and name = $1`
  readonly listColumns = `select m.name as "table", c.name as "column"
    from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' order by m.name, c.cid`
  readonly #thread: DatabaseThread
  readonly #clock: Clock
  /** Ends when the last transaction asked for has ended: there is one writer, and the order is that of asking. */
  #lastWriter: Promise<void> = Promise.resolve()

  constructor(file: string, thread: DatabaseThread, clock: Clock) {
    this.where = file
    this.#thread = thread
    this.#clock = clock
  }

  read(text: string, params: readonly Value[]): Promise<Row[]> {
    return this.#thread.ask({ op: 'read', text, params })
  }

  async snapshot<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const thread = this.#thread
    await thread.ask({ op: 'hold' })
    try {
      return await work({
        query: async <R>(text: string, params: readonly Value[] = []) =>
          (await thread.ask({ op: 'read', text, params })) as R[],
      })
    } finally {
      await thread.ask({ op: 'release' }).catch(() => {})
    }
  }

  async copyTo(file: string): Promise<void> {
    await this.#inTurn(() => this.#thread.ask({ op: 'copy', to: file }))
  }

  transaction<T>(work: (tx: ScriptSql) => Promise<T>, limitMs: number): Promise<T> {
    return this.#inTurn(() => this.#write(work, limitMs))
  }

  async #inTurn<T>(write: () => Promise<T>): Promise<T> {
    const before = this.#lastWriter
    const { promise, resolve: leave } = Promise.withResolvers<void>()
    this.#lastWriter = promise
    await before
    try {
      return await write()
    } finally {
      leave()
    }
  }

  async #write<T>(work: (tx: ScriptSql) => Promise<T>, limitMs: number): Promise<T> {
    const thread = this.#thread
    await thread.ask({ op: 'begin' })
    try {
      const transaction = new Transaction({
        query: (text, params) => thread.ask({ op: 'query', text, params }),
        script: async (text) => void (await thread.ask({ op: 'script', text })),
      })
      const result = await transaction.run(work, this.#clock, limitMs)
      await thread.ask({ op: 'commit' })
      return result
    } catch (error) {
      // If even this fails the thread is dead, and so is its transaction.
      await thread.ask({ op: 'rollback' }).catch(() => {})
      throw error
    }
  }

  async end(): Promise<void> {
    try {
      await this.#thread.ask({ op: 'close' })
    } finally {
      await this.#thread.stop()
    }
  }
}

/** Of the environment only the cache of compiled code: without it the thread would load the type stripper, 17 MB. */
function threadEnvironment(): Record<string, string> {
  const cache = process.env['NODE_COMPILE_CACHE']
  // Set to undefined, it would be a folder of that name.
  return cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }
}

interface Question {
  command: Command
  resolve: (rows: Row[]) => void
  reject: (error: Error) => void
}

/** Questions to the thread and its answers. The thread answers in order; once it has died, every question fails at once. */
class DatabaseThread {
  readonly #file: string
  readonly #worker: Worker
  readonly #waiting = new Map<number, Question>()
  #nextId = 0
  #death: AppError | undefined

  constructor(file: string) {
    this.#file = file
    // Beside this file, and .js once compiled.
    const script = new URL(`./sqlite-thread${extname(import.meta.url)}`, import.meta.url)
    this.#worker = new Worker(script, {
      name: 'sqlite',
      resourceLimits: THREAD_LIMITS,
      execArgv: [],
      env: threadEnvironment(),
    })
    this.#worker.on('message', (reply: Reply) => this.#answer(reply))
    this.#worker.on('error', (error) => this.#die(error))
    this.#worker.on('messageerror', (error) => this.#die(error))
    this.#worker.on('exit', () => this.#die(undefined))
  }

  ask(command: Command): Promise<Row[]> {
    if (this.#death) return Promise.reject(this.#death)
    return new Promise((resolve, reject) => {
      const id = this.#nextId++
      this.#waiting.set(id, { command, resolve, reject })
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker.postMessage({ id, command })
    })
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }

  #answer(reply: Reply): void {
    const question = this.#waiting.get(reply.id)
    if (!question) return
    this.#waiting.delete(reply.id)
    if ('rows' in reply) question.resolve(reply.rows as Row[])
    else question.reject(sqliteError(this.#file, question.command, reply.failure))
  }

  #die(cause: unknown): void {
    this.#death ??= new AppError(
      'unavailable',
      `The thread of the database ${this.#file} has stopped: restart Flotilla.`,
      {
        cause,
      },
    )
    for (const { reject } of this.#waiting.values()) reject(this.#death)
    this.#waiting.clear()
  }
}
