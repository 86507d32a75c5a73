import { AppError } from '../../platform/errors.ts'
import { plain } from '../terminal/text-width.ts'

/** Which lines are wanted. */
export interface LogRange {
  /** At most so many of those there are, over all nodes; undefined for all. */
  lines: number | undefined
  /** The number of the last line seen before. */
  after: number | undefined
  /** What the API sorts out: `stream` and `grep`. */
  filter: Readonly<Record<string, string>>
}

/** The most lines that the API gives at once. */
export const MOST_LINES = 10_000
const MOST_GREP_CHARACTERS = 500

export function parseRange(own: ReadonlyMap<string, string>): LogRange {
  const [stream, grep] = [own.get('stream'), own.get('grep')]
  if (stream !== undefined && stream !== 'stdout' && stream !== 'stderr') {
    throw mistake(`--stream: expected stdout or stderr, got "${plain(stream)}"`)
  }
  if (grep !== undefined && grep.length > MOST_GREP_CHARACTERS) {
    throw mistake(`--grep: expected at most ${MOST_GREP_CHARACTERS} characters`)
  }
  return {
    lines: wholeNumber('lines', own.get('lines'), MOST_LINES),
    after: wholeNumber('after', own.get('after'), Number.MAX_SAFE_INTEGER),
    filter: { ...(stream === undefined ? {} : { stream }), ...(grep === undefined ? {} : { grep }) },
  }
}

function wholeNumber(flag: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (number <= most) return number
  const limit = most === Number.MAX_SAFE_INTEGER ? '' : ` up to ${most}`
  throw mistake(`--${flag}: expected a whole number${limit}, got "${plain(text)}"`)
}

function mistake(what: string): AppError {
  return new AppError('usage', `flotilla logs: ${what}.`)
}
