import type { AnswerHead } from '../../upstream/answer-parser.ts'
import { STATUS_CODES } from '../../server/node-http.ts'
import { Instead, linesPassedOn } from '../../upstream/forward-headers.ts'
import { httpDate } from '../http-date.ts'
import type { JoinedHead } from './head-parts.ts'

interface Passed {
  /** Names of the answer's headers that are left out. */
  readonly names: Instead['names']
  readonly start: Buffer
  /** The same, followed by `x-request-id: `. */
  readonly named: Buffer
  /** The last bytes made between that and the length, for this date and these lines. An answer has an id always, or never. */
  middle: Buffer
  date: string
  lines: string
}

/** The upstream connection reuses one head object for identical heads, so the work is kept per object. */
const known = new WeakMap<AnswerHead, Passed>()

/** What the server adds to the head of a forwarded answer, and what it leaves out. */
export interface OurWords {
  /** The answer's own headers with these names are left out. */
  names: Instead['names']
  /** The request's id, if the answer tells it to the client. */
  id: string | undefined
  /** More header lines. */
  lines: string
  nowMs?: number
}

/** The head of a forwarded answer: its own lines and `ours`. `length` is the body's, and is ignored for chunks. */
export function passedHead(head: AnswerHead, ours: OurWords, length: number, keepS: number): JoinedHead {
  const { names, id, lines, nowMs } = ours
  const passed = passedOf(head, names)
  const date = head.headers['date'] === undefined ? httpDate(nowMs) : ''
  if (passed.date !== date || passed.lines !== lines || passed.middle === NOTHING) {
    passed.date = date
    passed.lines = lines
    const framing = head.isChunked ? IN_CHUNKS : 'Content-Length: '
    passed.middle = Buffer.from(`${id === undefined ? '' : '\r\n'}${lines}${dateLine(date)}${framing}`, 'latin1')
  }
  return {
    start: id === undefined ? passed.start : passed.named,
    id: id ?? '',
    middle: passed.middle,
    length: head.isChunked ? -1 : length,
    end: head.isChunked ? endOfStream(keepS) : endOfWhole(keepS),
  }
}

const NOTHING = Buffer.alloc(0)
export const IN_CHUNKS = 'Transfer-Encoding: chunked\r\n'

/** The last lines of every head. `keepS` is 0 when the connection closes after the answer. */
export function lastLines(hasDate: boolean, framing: string, keepS: number): string {
  return `${dateLine(hasDate ? '' : httpDate())}${framing}${connectionLines(keepS)}`
}

function dateLine(date: string): string {
  return date === '' ? '' : `Date: ${date}\r\n`
}

function connectionLines(keepS: number): string {
  return `Connection: ${keepS === 0 ? 'close' : `keep-alive\r\nKeep-Alive: timeout=${keepS}`}\r\n\r\n`
}

const endOfWhole = rememberLast((keepS) => `\r\n${connectionLines(keepS)}`)
const endOfStream = rememberLast(connectionLines)

/** A process uses at most two values of `keepS`, and nearly always the same one. */
function rememberLast(textOf: (keepS: number) => string): (keepS: number) => Buffer {
  let last = -1
  let bytes = NOTHING
  return (keepS) => {
    if (keepS !== last) bytes = Buffer.from(textOf(keepS), 'latin1')
    last = keepS
    return bytes
  }
}

/** The first lines of a forwarded answer, without its length and the headers with these names. */
export function startOf(head: AnswerHead, names: Instead['names']): Buffer {
  return passedOf(head, names).start
}

function passedOf(head: AnswerHead, names: Instead['names']): Passed {
  const found = known.get(head)
  if (found?.names === names) return found
  const { statusCode, statusMessage, rawHeaders } = head
  const text = firstLine(statusCode, statusMessage) + linesPassedOn(rawHeaders, new Instead(names, ''), true)
  const start = Buffer.from(text, 'latin1')
  const named = Buffer.from(`${text}x-request-id: `, 'latin1')
  const passed = { names, start, named, date: '', lines: '', middle: NOTHING }
  known.set(head, passed)
  return passed
}

export function firstLine(status: number, reason: string): string {
  return `HTTP/1.1 ${status} ${reason === '' ? (STATUS_CODES[status] ?? 'unknown') : reason}\r\n`
}
