import { sleep, type Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Sql, Value } from '../sql.ts'
import { LIMIT_MS, type Driver, type Row, type ScriptSql } from './driver.ts'
import { ConnectionLost, Contended } from './postgres-errors.ts'
import { SessionPool } from './postgres-pool.ts'
import type { Session } from './postgres-session.ts'
import { serverOf } from './postgres-url.ts'
import { Transaction } from './transaction.ts'

/** Ten connections in all. Readers have their own, so that writers waiting for each other never keep a read waiting. */
const MAX_WRITERS = 6
const MAX_READERS = 4

/** Tries after the first. The pause before each is a random part of a limit that doubles from `firstMs` up to `capMs`. */
const CONTENTION = { tries: 20, firstMs: 4, capMs: 250 }
const OUTAGE = { tries: 4, firstMs: 100, capMs: 800 }
/** Up to 15 s in all: a database that is started together with Flotilla may need as long. */
const START = { tries: 10, firstMs: 400, capMs: 4_000 }

const SNAPSHOT_IDLE_MS = 10 * 60_000

interface Deps {
  clock: Clock
  rng: () => number
}

/** Connects, or says within a bounded time why it cannot. */
export async function openPostgres(url: string, deps: Deps): Promise<Driver> {
  const driver = new PostgresDriver(url, deps)
  try {
    await driver.connect()
  } catch (error) {
    await driver.end()
    throw error
  }
  return driver
}

class PostgresDriver implements Driver {
  readonly kind = 'postgres'
  readonly prelude = `
    create or replace function now_ms() returns bigint language sql volatile
    as 'select cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)'`
  readonly findTable = 'select 1 as found from pg_catalog.pg_class where oid = to_regclass($1)'
  readonly listColumns = `select c.relname as "table", a.attname as "column"
    from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
    where c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped and pg_catalog.pg_table_is_visible(c.oid)
      and c.relnamespace <> 'pg_catalog'::regnamespace order by c.relname, a.attnum`
  readonly where: string
  readonly #deps: Deps
  readonly #readers: SessionPool
  readonly #writers: SessionPool

  constructor(url: string, deps: Deps) {
    this.where = serverOf(url)
    this.#deps = deps
    this.#readers = new SessionPool({ url, readOnly: true, clock: deps.clock }, MAX_READERS)
    this.#writers = new SessionPool({ url, readOnly: false, clock: deps.clock }, MAX_WRITERS)
  }

  async connect(): Promise<void> {
    await this.#retry(() => this.#readers.use((session) => session.query('select 1 as one')), START)
  }

  read(text: string, params: readonly Value[]): Promise<Row[]> {
    return this.#retry(() => this.#readers.use((session) => session.query(text, params)), OUTAGE)
  }

  snapshot<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#readers.use(async (session) => {
      await session.query('begin isolation level repeatable read')
      let late = true
      try {
        // The consumer of the rows may be slow: a pipe, a disk.
        await session.script(`set local idle_in_transaction_session_timeout = ${SNAPSHOT_IDLE_MS}`)
        const query = async <R>(text: string, params: readonly Value[] = []) =>
          (await session.query(text, params)) as R[]
        const result = await work({ query })
        late = false
        return result
      } catch (error) {
        throw error instanceof ConnectionLost ? unreachable(this.where, error) : error
      } finally {
        await undo(session, late)
      }
    })
  }

  transaction<T>(work: (tx: ScriptSql) => Promise<T>, limitMs: number): Promise<T> {
    return this.#retry(() => this.#writers.use((session) => this.#attempt(session, work, limitMs)), OUTAGE)
  }

  async #attempt<T>(session: Session, work: (tx: ScriptSql) => Promise<T>, limitMs: number): Promise<T> {
    await session.query('begin isolation level serializable')
    const transaction = new Transaction({
      query: (text, params) => session.query(text, params, limitMs),
      script: (text) => session.script(text, limitMs),
    })
    let result: T
    try {
      if (limitMs !== LIMIT_MS) await session.script(`set local statement_timeout = ${limitMs}`)
      result = await transaction.run(work, this.#deps.clock, limitMs)
    } catch (error) {
      await undo(session, transaction.late)
      // What the server said decides whether to try again, whatever `work` made of it.
      throw isTransient(transaction.failure) ? transaction.failure : error
    }
    await this.#commit(session)
    return result
  }

  async #commit(session: Session): Promise<void> {
    if (session.lost) throw new ConnectionLost('the connection was lost before the commit')
    try {
      await session.query('commit')
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      // Not tried again: if it did happen, it would happen twice.
      throw new AppError(
        'unavailable',
        `The connection to PostgreSQL at ${this.where} was lost during a commit: the change may or may not have been made.`,
        { cause: error },
      )
    }
  }

  /** Repeats `work` after a conflict with another transaction or a lost connection, a bounded number of times. */
  async #retry<T>(attempt: () => Promise<T>, outage: typeof OUTAGE): Promise<T> {
    let contended = 0
    let lost = 0
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (error instanceof Contended) {
          if (contended === CONTENTION.tries) throw tooContended(error)
          await this.#pause(CONTENTION, contended++)
        } else if (error instanceof ConnectionLost) {
          if (lost === outage.tries) throw unreachable(this.where, error)
          await this.#pause(outage, lost++)
        } else throw error
      }
    }
  }

  #pause({ firstMs, capMs }: typeof OUTAGE, before: number): Promise<void> {
    const { clock, rng } = this.#deps
    return sleep(clock, rng() * Math.min(capMs, firstMs * 2 ** before))
  }

  async end(): Promise<void> {
    await Promise.all([this.#readers.end(), this.#writers.end()])
  }
}

/** The server rolls back anyway once the connection is gone, so a failure here does no harm. */
async function undo(session: Session, late: boolean): Promise<void> {
  try {
    if (late) await session.destroy()
    else if (!session.lost) await session.query('rollback')
  } catch {
    await session.destroy()
  }
}

function isTransient(error: unknown): error is Contended | ConnectionLost {
  return error instanceof Contended || error instanceof ConnectionLost
}

function tooContended(cause: Contended): AppError {
  const message = `Too many changes at the same time: a transaction was tried ${CONTENTION.tries + 1} times.`
  return new AppError('busy', message, { cause, retryAfterS: 1 })
}

function unreachable(server: string, cause: ConnectionLost): AppError {
  return new AppError('unavailable', `Cannot reach PostgreSQL at ${server}: ${messageOf(cause)}.`, {
    cause,
    retryAfterS: 1,
  })
}
