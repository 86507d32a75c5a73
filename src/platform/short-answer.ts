import type { AnswerHead } from './answer-parser.ts'
import { STATUS_CODES } from './node-http.ts'
import { linesPassedOn, type Instead } from './pass-on.ts'
import { httpDate } from './wire/http-date.ts'

interface Passed {
  /** The names that were taken away. */
  without: Instead
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
  return `${startOf(head, without)}${lines}\r\n${body}`
}

function startOf(head: AnswerHead, without: Instead): string {
  const passed = known.get(head)
  if (passed?.without === without) return passed.start
  const { statusCode, statusMessage, rawHeaders } = head
  const reason = statusMessage === '' ? (STATUS_CODES[statusCode] ?? 'unknown') : statusMessage
  const start = `HTTP/1.1 ${statusCode} ${reason}\r\n${linesPassedOn(rawHeaders, without, true)}`
  known.set(head, { without, start })
  return start
}
