import { describe, expect, test } from 'vitest'
import type { AnswerHead } from '../../upstream/answer-parser.ts'
import { passedHead, type OurWords } from './answer-head.ts'
import { textOfHead } from './head-parts.ts'

const AT_MS = Date.UTC(2026, 0, 2, 3, 4, 5)

const anAnswer = (fields: Partial<AnswerHead> = {}): AnswerHead => ({
  statusCode: 200,
  statusMessage: 'OK',
  rawHeaders: ['Server', 'x', 'X-Secret', 'y', 'Content-Length', '7'],
  headers: { server: 'x', 'x-secret': 'y', 'content-length': '7' },
  mayKeepAlive: true,
  isChunked: false,
  ...fields,
})
const names: ReadonlySet<string> = new Set(['x-secret'])
const ours = (words: Partial<OurWords> = {}): OurWords => ({ names, id: 'one', lines: '', nowMs: AT_MS, ...words })
const DATE = 'Date: Fri, 02 Jan 2026 03:04:05 GMT\r\n'
const KEPT = 'Connection: keep-alive\r\nKeep-Alive: timeout=65\r\n\r\n'

describe('the head of an answer that is passed on', () => {
  test('has its own lines but those that are left out, the id, the date, and how it ends', () => {
    const text = textOfHead(passedHead(anAnswer(), ours(), 7, 65))
    expect(text).toBe(`HTTP/1.1 200 OK\r\nServer: x\r\nx-request-id: one\r\n${DATE}Content-Length: 7\r\n${KEPT}`)
  })

  test('in chunks says so instead of a length', () => {
    const head = anAnswer({ isChunked: true, rawHeaders: ['Server', 'x', 'Transfer-Encoding', 'chunked'] })
    const text = textOfHead(passedHead(head, ours(), -1, 65))
    expect(text).toBe(
      `HTTP/1.1 200 OK\r\nServer: x\r\nx-request-id: one\r\n${DATE}Transfer-Encoding: chunked\r\n${KEPT}`,
    )
  })

  test('without an id has no line for it, and its own date stays', () => {
    const head = anAnswer({ rawHeaders: ['Date', 'today'], headers: { date: 'today' } })
    const text = textOfHead(passedHead(head, ours({ id: undefined }), 0, 0))
    expect(text).toBe('HTTP/1.1 200 OK\r\nDate: today\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
  })

  test('says each time what is said this time: another id, length, line, second, and whether it is the last', () => {
    const head = anAnswer()
    const say = (words: Partial<OurWords>, length: number, keepS: number): string =>
      textOfHead(passedHead(head, ours(words), length, keepS))
    const first = say({}, 7, 65)
    expect(say({ id: 'another' }, 7, 65)).toBe(first.replace('one', 'another'))
    expect(say({}, 12_345, 65)).toBe(first.replace('Length: 7', 'Length: 12345'))
    expect(say({ lines: 'x-node: a\r\n' }, 7, 65)).toBe(first.replace('Date', 'x-node: a\r\nDate'))
    expect(say({ lines: 'x-node: b\r\n' }, 7, 65)).toBe(first.replace('Date', 'x-node: b\r\nDate'))
    expect(say({ nowMs: AT_MS + 1000 }, 7, 65)).toBe(first.replace(':05', ':06'))
    expect(say({}, 7, 0)).toBe(first.replace(KEPT, 'Connection: close\r\n\r\n'))
    expect(say({}, 7, 65)).toBe(first)
  })
})
