import { AppError, messageOf } from './errors.ts'

/** Whether a write failed because there is no room, or no more of it for this user. */
export function isFull(error: unknown): boolean {
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** SQLite says it in its own words. */
const FULL_DATABASE = /(?:disk is full|database or disk is full)/

/**
 * What kept a start from going on, with the folder whose disk is full where that is the reason. It is no mistake of the
 * command line, after which a service manager would not start it again.
 */
export function startFailure(error: unknown, folder: string): unknown {
  if (!isFull(error) && !FULL_DATABASE.test(messageOf(error))) return error
  const { path } = error as NodeJS.ErrnoException
  const where = path === undefined || path.startsWith(folder) ? folder : path
  const text = `The disk of ${where} is full: ${messageOf(error)}`
  return new AppError('unavailable', `${text.replace(/\.?$/, '.')} Make room there and start again.`, { cause: error })
}
