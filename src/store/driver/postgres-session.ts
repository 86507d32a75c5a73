import postgres from 'postgres'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Value } from '../sql.ts'
import { LIMIT_MS, MAX_ROWS, type Row } from './driver.ts'
import { ConnectionLost, isFatal, postgresError, type SessionKind } from './postgres-errors.ts'
import { serverOf } from './postgres-url.ts'
import { postgresTls } from './postgres-tls.ts'
import { StatementError, tooLarge } from './store-errors.ts'

const CONNECT_TIMEOUT_S = 5

/** The server stops a statement at its limit. If nothing comes for this much longer, the network is gone. */
const SILENCE_MS = 5_000

/** A frozen frontend must not hold its locks for ever. */
const IDLE_IN_TRANSACTION_MS = 60_000

/** `simple` is not in the types: without it, a statement without parameters would not be prepared. */
const PREPARED = { prepare: true, simple: false }

export interface SessionOptions {
  url: string
  readOnly: boolean
  clock: Clock
}

/**
 * One connection, opened by its first statement and never opened again: the driver would reconnect silently and send the
 * rest of a transaction outside of it. Once `lost`, a session is thrown away.
 */
export class Session {
  readonly #sql: postgres.Sql
  readonly #clock: Clock
  readonly #kind: SessionKind
  lost = false

  constructor({ url, readOnly, clock }: SessionOptions) {
    this.#clock = clock
    this.#kind = { where: serverOf(url), isReader: readOnly }
    this.#sql = connect(url, readOnly, () => {
      this.lost = true
    })
  }

  async query(text: string, params: readonly Value[] = [], limitMs = LIMIT_MS): Promise<Row[]> {
    const rows = await this.#ask(text, () => this.#sql.unsafe<Row[]>(text, [...params], PREPARED), limitMs)
    if (rows.length > MAX_ROWS) throw new StatementError(text, `the answer has more than ${MAX_ROWS} rows`)
    for (const row of rows) {
      for (const column in row) if (typeof row[column] === 'bigint') throw tooLarge(text)
    }
    // The driver's result is an array with more on it.
    return [...rows]
  }

  /** Several statements at once, without parameters. */
  async script(text: string, limitMs = LIMIT_MS): Promise<void> {
    await this.#ask(text, () => this.#sql.unsafe(text).simple(), limitMs)
  }

  /** Ends the connection whatever it is doing. */
  async destroy(): Promise<void> {
    this.lost = true
    await this.#sql.end({ timeout: 0 })
  }

  async #ask<T>(text: string, send: () => PromiseLike<T>, limitMs: number): Promise<T> {
    if (this.lost) throw new ConnectionLost('the connection was lost')
    let cancel = (): void => {}
    const silence = new Promise<never>((_resolve, reject) => {
      cancel = this.#clock.after(limitMs + SILENCE_MS, () => {
        void this.destroy()
        reject(new ConnectionLost('the server does not answer'))
      })
    })
    try {
      return await Promise.race([send(), silence])
    } catch (error) {
      const known = error instanceof ConnectionLost ? error : postgresError(text, error, this.#kind)
      if (known instanceof ConnectionLost || isFatal(error)) this.lost = true
      throw known
    } finally {
      cancel()
    }
  }
}

function connect(url: string, readOnly: boolean, onclose: () => void): postgres.Sql {
  const { url: plain, ssl } = postgresTls(url)
  try {
    return postgres(plain, {
      max: 1,
      ...(ssl ? { ssl } : {}),
      // Either timer could end the connection between two statements of a transaction.
      idle_timeout: 0,
      max_lifetime: 0,
      connect_timeout: CONNECT_TIMEOUT_S,
      fetch_types: false,
      prepare: true,
      onnotice: () => {},
      onclose,
      types: portableTypes,
      connection: {
        application_name: 'flotilla',
        statement_timeout: LIMIT_MS,
        idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
        // One statement is a snapshot of its own. Serializable would only let readers fail.
        default_transaction_isolation: readOnly ? 'read committed' : 'serializable',
        default_transaction_read_only: readOnly,
      },
    })
  } catch {
    // The cause holds the URL, and the URL the password.
    throw new AppError('usage', 'The database URL is not valid: write postgres://user:password@host:port/database.')
  }
}

/** Answers as SQLite gives them: numbers for all whole and decimal numbers, 0 and 1 for booleans, text for the rest. */
const portableTypes = {
  integer: { to: 20, from: [20], serialize: String, parse: toNumber },
  decimal: { to: 1700, from: [1700], serialize: String, parse: toNumber },
  boolean: { to: 16, from: [16], serialize: String, parse: (text: string) => (text === 't' ? 1 : 0) },
  text: { to: 25, from: [114, 3802, 1082, 1114, 1184], serialize: String, parse: (text: string) => text },
}

/** A bigint stands for a number that does not fit; `query` refuses it, because throwing here would upset the driver. */
function toNumber(text: string): number | bigint {
  const value = Number(text)
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? 0n : value
}
