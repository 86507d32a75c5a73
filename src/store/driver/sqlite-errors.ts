import { basename, dirname } from 'node:path'
import { AppError } from '../../platform/errors.ts'
import type { Command, Failure } from './sqlite-thread.ts'
import { ConstraintError, StatementError, tooLarge, wroteInRead, type Constraint } from './store-errors.ts'

/** Extended result codes of SQLITE_CONSTRAINT. */
const CONSTRAINTS: Record<number, Constraint> = {
  2067: 'unique',
  1555: 'unique',
  787: 'foreign_key',
  275: 'check',
  1299: 'not_null',
}

/** Primary result codes that say something about the file and nothing about the statement. */
const FILE_PROBLEMS: Record<number, string> = {
  5: 'another process is writing to it',
  6: 'another process is writing to it',
  8: 'the file or its disk is read-only',
  10: 'the disk reports an error',
  11: 'the file is damaged',
  13: 'the disk is full',
  14: 'the file cannot be opened',
  26: 'the file is not a database',
}

const READONLY = 8
const DAMAGED = new Set([11, 26])

export function sqliteError(file: string, command: Command, failure: Failure): Error {
  const { message, code, errcode = 0 } = failure
  const cause = Object.assign(new Error(message), { code, errcode })
  if (command.op === 'open' && DAMAGED.has(errcode & 0xff)) {
    const what = `${FILE_PROBLEMS[errcode & 0xff]} (${message})`
    return new AppError('usage', `Cannot open the database ${file}: ${what}. ${wayBack(file)}`, { cause })
  }
  if (command.op === 'open') {
    return new AppError('usage', `Cannot open the database ${file}: ${FILE_PROBLEMS[errcode & 0xff] ?? message}.`, {
      cause,
    })
  }
  const text = 'text' in command ? command.text : command.op
  if (command.op === 'read' && (errcode & 0xff) === READONLY) return wroteInRead(text)
  if (code === 'ERR_OUT_OF_RANGE') return tooLarge(text)
  const constraint = CONSTRAINTS[errcode]
  if (constraint) return new ConstraintError(constraint, cause)
  const problem = FILE_PROBLEMS[errcode & 0xff]
  if (problem) return new AppError('unavailable', `Cannot use the database ${file}: ${problem}.`, { cause })
  return new StatementError(text, message, cause)
}

/** What to do when the file cannot be used any more; it is never repaired, replaced or moved by us. */
export function wayBack(file: string): string {
  const name = basename(file)
  const restore = `move ${name}, ${name}-wal and ${name}-shm elsewhere, then flotilla db import <backup> --data ${dirname(file)}`
  return `Nothing was changed. The way back: ${restore}. docs/guide/back-up.md says more.`
}
