import { AppError, messageOf } from './errors.ts'

/** Whether a write failed for lack of space, or of this user's quota. */
export function isFull(error: unknown): boolean {
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** SQLite's own messages for it. */
const FULL_DATABASE = /(?:disk is full|database or disk is full)/

/**
 * Why a start failed; if the disk is full, an error that names the folder. That error is not a usage mistake, after
 * which a service manager would not try again.
 */
export function startFailure(error: unknown, folder: string): unknown {
  if (!isFull(error) && !FULL_DATABASE.test(messageOf(error))) return error
  const { path } = error as NodeJS.ErrnoException
  const where = path === undefined || path.startsWith(folder) ? folder : path
  const text = `The disk of ${where} is full: ${messageOf(error)}`
  return new AppError('unavailable', `${text.replace(/\.?$/, '.')} Make room there and start again.`, { cause: error })
}
