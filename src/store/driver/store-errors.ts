import { AppError } from '../../platform/errors.ts'

export type Constraint = 'unique' | 'foreign_key' | 'check' | 'not_null'

/** A row that the schema does not allow. The same error, whichever database refused it. */
export class ConstraintError extends AppError {
  readonly constraint: Constraint

  constructor(constraint: Constraint, cause: unknown) {
    // A duplicate or a dangling reference can come from a race of two callers; the others are always our mistake.
    const code = constraint === 'unique' || constraint === 'foreign_key' ? 'conflict' : 'internal'
    super(code, `The store refused the change: ${constraint.replace('_', ' ')} constraint.`, { cause })
    this.name = 'ConstraintError'
    this.constraint = constraint
  }
}

export function isUniqueViolation(error: unknown): boolean {
  return error instanceof ConstraintError && error.constraint === 'unique'
}

/** A statement that is wrong in itself. The log gets its text; parameters may be secrets and stay out. */
export class StatementError extends Error {
  constructor(text: string, reason: string, cause?: unknown) {
    super(`${reason} (statement: ${text.replaceAll(/\s+/g, ' ').trim().slice(0, 300)})`, { cause })
    this.name = 'StatementError'
  }
}

/** Migrations made every table that is asked for: where one is missing, another store has come in the place of ours. */
export function noTables(reason: string, cause: unknown): AppError {
  const text = `The database has no tables of Flotilla: another database? (${reason})`
  return new AppError('unavailable', text, { cause, details: { store: 'empty' } })
}

export function tooLarge(text: string): StatementError {
  return new StatementError(text, 'a whole number in the answer is too large to be held exactly')
}

export function wroteInRead(text: string): StatementError {
  return new StatementError(text, 'outside a transaction nothing may be written: use transaction()')
}
