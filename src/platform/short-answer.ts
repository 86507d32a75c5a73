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

/** A whole answer in one text: with the lines of its head, but those that `without` names, and with ours. */
export function shortAnswer(
  head: AnswerHead,
  body: string,
  keepS: number,
  without: Instead,
  ours: string,
  nowMs?: number,
): string {
  const date = head.headers['date'] === undefined ? `Date: ${httpDate(nowMs)}\r\n` : ''
  const connection = keepS === 0 ? 'close' : `keep-alive\r\nKeep-Alive: timeout=${keepS}`
  const lines = `${ours}${date}Content-Length: ${body.length}\r\nConnection: ${connection}\r\n`
  return `${startOf(head, without.names)}${lines}\r\n${body}`
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
