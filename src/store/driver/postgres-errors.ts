import postgres from 'postgres'
import { AppError, messageOf } from '../../platform/errors.ts'
import { ConstraintError, noTables, StatementError, wroteInRead, type Constraint } from './store-errors.ts'

export interface SessionKind {
  /** Host and port of the server. */
  where: string
  /** Of our own pool for reads, where writing is a mistake of ours. */
  isReader: boolean
}

function readOnlyText(where: string): string {
  return `PostgreSQL at ${where} is read-only: a standby? Nothing can be changed until --database-url leads to the primary.`
}

/** The transaction met another one: run it again. */
export class Contended extends Error {}

/** The server is not there, or no longer. What was not committed has not happened. */
export class ConnectionLost extends Error {}

const CONSTRAINTS: Record<string, Constraint> = {
  '23505': 'unique',
  '23503': 'foreign_key',
  '23514': 'check',
  '23502': 'not_null',
}

/** Serialization failure and deadlock. */
const CONTENDED = new Set(['40001', '40P01'])

/** A prepared statement that another process's migration has made stale; the driver prepares it again next time. */
const STALE_STATEMENT = new Set(['RevalidateCachedQuery', 'FetchPreparedStatement'])

/** Shutting down, crashed, starting up, too many connections, and connection exceptions (08P01 is a mistake of ours). */
const LOST = /^(57P0[123]|53300|08(?!P01)...)$/

/** Wrong login or database: trying again will not help. */
const REFUSED_LOGIN = /^(28...|3D000|42501)$/

/** Serializable transactions are refused by a standby before it looks at what they write. */
const STANDBY = /hot standby/

const UNDEFINED_TABLE = '42P01'

/** Translates what the driver threw for the statement `text` into the store's own errors. */
export function postgresError(text: string, error: unknown, { where, isReader }: SessionKind): Error {
  // Everything that is not the server's own answer is a broken connection of one kind or another.
  if (!(error instanceof postgres.PostgresError)) return new ConnectionLost(messageOf(error), { cause: error })
  const { code, routine, message } = error
  if (LOST.test(code)) return new ConnectionLost(message, { cause: error })
  if (CONTENDED.has(code) || STALE_STATEMENT.has(routine)) return new Contended(message, { cause: error })
  const constraint = CONSTRAINTS[code]
  if (constraint) return new ConstraintError(constraint, error)
  if (code === '25006' && isReader) return wroteInRead(text)
  if (code === '25006' || (code === '0A000' && STANDBY.test(message))) {
    return new AppError('unavailable', readOnlyText(where), { cause: error, retryAfterS: 5 })
  }
  if (code === UNDEFINED_TABLE) return noTables(message, error)
  if (code === '57014') return new AppError('timeout', 'PostgreSQL took too long for a statement.', { cause: error })
  if (REFUSED_LOGIN.test(code)) return new AppError('usage', `PostgreSQL refuses: ${message}.`, { cause: error })
  if (code.startsWith('53'))
    return new AppError('unavailable', `PostgreSQL cannot go on: ${message}.`, { cause: error })
  return new StatementError(text, message, error)
}

/** The server closes the connection after a fatal error. */
export function isFatal(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity === 'FATAL'
}
