import type { AnswerHead } from './answer-parser.ts'
import { STATUS_CODES } from './node-http.ts'
import { Instead, linesPassedOn } from './pass-on.ts'
import { httpDate } from './wire/http-date.ts'
import type { JoinedHead } from './wire/write-joined.ts'

interface Passed {
  /** Those that were taken away. */
  names: Instead['names']
  start: Buffer
}

/** Heads of answers are the same objects for as long as they say the same. */
const known = new WeakMap<AnswerHead, Passed>()

/** The head of a whole answer that is passed on: its lines, but those that `without` names, and ours. */
export function shortHead(
  head: AnswerHead,
  length: number,
  keepS: number,
  without: Instead,
  ours: string,
  nowMs?: number,
): JoinedHead {
  const framing = `Content-Length: ${length}\r\n`
  const rest = ours + lastLines(head.headers['date'] !== undefined, framing, keepS, nowMs)
  return { start: startOf(head, without.names), rest }
}

/** The same for an answer in chunks, of which this is the beginning. */
export function streamHead(head: AnswerHead, keepS: number, ours: Instead): JoinedHead {
  const rest = ours.lines + lastLines(head.headers['date'] !== undefined, IN_CHUNKS, keepS)
  return { start: startOf(head, ours.names), rest }
}

export const IN_CHUNKS = 'Transfer-Encoding: chunked\r\n'

/** What every head ends with. Of one whose connection is not kept, `keepS` is 0. */
export function lastLines(hasDate: boolean, framing: string, keepS: number, nowMs?: number): string {
  const date = hasDate ? '' : `Date: ${httpDate(nowMs)}\r\n`
  const connection = keepS === 0 ? 'close' : `keep-alive\r\nKeep-Alive: timeout=${keepS}`
  return `${date}${framing}Connection: ${connection}\r\n\r\n`
}

/** The first lines of an answer that is passed on, without its length and what has one of these names. */
export function startOf(head: AnswerHead, names: Instead['names']): Buffer {
  const passed = known.get(head)
  if (passed?.names === names) return passed.start
  const { statusCode, statusMessage, rawHeaders } = head
  const lines = linesPassedOn(rawHeaders, new Instead(names, ''), true)
  const start = Buffer.from(firstLine(statusCode, statusMessage) + lines, 'latin1')
  known.set(head, { names, start })
  return start
}

export function firstLine(status: number, reason: string): string {
  return `HTTP/1.1 ${status} ${reason === '' ? (STATUS_CODES[status] ?? 'unknown') : reason}\r\n`
}
