import type { AnswerHead } from './answer-parser.ts'
import { STATUS_CODES } from './node-http.ts'
import { Instead, linesPassedOn } from './pass-on.ts'
import { httpDate } from './wire/http-date.ts'

interface Passed {
  /** Those that were taken away. */
  names: Instead['names']
  start: string
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
): string {
  const date = head.headers['date'] === undefined ? `Date: ${httpDate(nowMs)}\r\n` : ''
  const connection = keepS === 0 ? 'close' : `keep-alive\r\nKeep-Alive: timeout=${keepS}`
  const lines = `${ours}${date}Content-Length: ${length}\r\nConnection: ${connection}\r\n`
  return `${startOf(head, without.names)}${lines}\r\n`
}

/** The first lines of an answer that is passed on, without its length and what has one of these names. */
export function startOf(head: AnswerHead, names: Instead['names']): string {
  const passed = known.get(head)
  if (passed?.names === names) return passed.start
  const { statusCode, statusMessage, rawHeaders } = head
  const lines = linesPassedOn(rawHeaders, new Instead(names, ''), true)
  const start = `${firstLine(statusCode, statusMessage)}${lines}`
  known.set(head, { names, start })
  return start
}

export function firstLine(status: number, reason: string): string {
  return `HTTP/1.1 ${status} ${reason === '' ? (STATUS_CODES[status] ?? 'unknown') : reason}\r\n`
}
