import type { AnswerHead } from '../../upstream/answer-parser.ts'
import { STATUS_CODES } from '../../server/node-http.ts'
import { Instead, linesPassedOn } from '../../upstream/forward-headers.ts'
import { httpDate } from '../http-date.ts'
import type { JoinedHead } from './head-parts.ts'

interface Passed {
  /** Those that were taken away. */
  readonly names: Instead['names']
  readonly start: Buffer
  /** The same, with the name of the id that follows. */
  readonly named: Buffer
  /** What was last said between that and the length, for this date and these lines: with an id always, or never. */
  middle: Buffer
  date: string
  lines: string
}

/** Heads of answers are the same objects for as long as they say the same. */
const known = new WeakMap<AnswerHead, Passed>()

/** What we say in the head of an answer that is passed on. */
export interface OurWords {
  /** Of the answer's own lines those are left out. */
  names: Instead['names']
  /** Of the request, where the client is told. */
  id: string | undefined
  /** More lines. */
  lines: string
  nowMs?: number
}

/** The head of an answer that is passed on: its own lines and ours. `length` is that of its body, unless it comes in chunks. */
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

/** What every head ends with. Of one whose connection is not kept, `keepS` is 0. */
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

/** There are two such times at most in a process, and nearly always the same. */
function rememberLast(textOf: (keepS: number) => string): (keepS: number) => Buffer {
  let last = -1
  let bytes = NOTHING
  return (keepS) => {
    if (keepS !== last) bytes = Buffer.from(textOf(keepS), 'latin1')
    last = keepS
    return bytes
  }
}

/** The first lines of an answer that is passed on, without its length and what has one of these names. */
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
