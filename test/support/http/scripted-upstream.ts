import type { Socket } from 'node:net'
import { REFUSAL_HEADER } from '../../../src/api/data-port.ts'

/** What is said piece by piece, each in a write of its own; and whether the connection ends then. */
interface Said {
  pieces: string[]
  hangsUp?: true
}

const whole = (status: string, body: string, lines = ''): string =>
  `HTTP/1.1 ${status}\r\n${lines}Content-Length: ${body.length}\r\n\r\n${body}`
const JSON_LINE = 'content-type: application/json\r\n'
const EVENT_LINES = 'content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n'
const refusal = `${REFUSAL_HEADER}: 1\r\n`

/** Ways to answer that a worker or an engine may have, right and wrong. `id` is what the request is called. */
const answers = {
  whole: () => ({ pieces: [whole('200 OK', '{"a":1}', JSON_LINE)] }),
  'whole, with a date': () => ({ pieces: [whole('200 OK', '{}', 'Date: Mon, 01 Jan 2024 00:00:00 GMT\r\n')] }),
  'whole, and odd': (id) => ({
    pieces: [
      whole(
        '299 Gr\xfc\xdfe, you',
        '\x00\xff\r\n\r\n',
        `X-ODD:\t a\x80 \r\nset-cookie: a\r\nset-cookie: b\r\nx-request-id: ${id}\r\n`,
      ),
    ],
  }),
  'whole, in our name': () => ({
    pieces: [whole('200', '{}', `x-flotilla-node: evil\r\nX-Flotilla-Replica: evil\r\nvia: x\r\n`)],
  }),
  'whole, and the last': () => ({
    pieces: [whole('200 OK', 'last', 'connection: close, x-a\r\nx-a: b\r\n')],
    hangsUp: true,
  }),
  'whole, of HTTP/1.0': () => ({ pieces: [whole('200 OK', 'old').replace('1.1', '1.0')] }),
  'whole, with its usage': () => ({
    pieces: [
      whole('200 OK', `{"x":"${'y'.repeat(3000)}","usage":{"prompt_tokens":7,"completion_tokens":9}}`, JSON_LINE),
    ],
  }),
  'whole, as events': () => ({
    pieces: [
      whole(
        '200 OK',
        'data: {"usage":{"prompt_tokens":1,"completion_tokens":5}}\n\n',
        'content-type: text/event-stream\r\n',
      ),
    ],
  }),
  'whole, and empty JSON': () => ({ pieces: [whole('200 OK', '', JSON_LINE)] }),
  'whole, and empty': () => ({ pieces: [whole('200 OK', '')] }),
  'whole, and long': () => ({ pieces: [whole('200 OK', 'x'.repeat(30_000))] }),
  'whole, and longer than a read': () => ({ pieces: [whole('200 OK', 'x'.repeat(150_000))] }),
  'in two pieces': () => ({ pieces: [whole('200 OK', '').replace(': 0', ': 6'), 'abcdef'] }),
  'in many pieces': () => ({ pieces: ['HTTP/1.1 2', '00 OK\r\nContent-Len', 'gth: 6\r\n\r', '\nabc', 'def'] }),
  'in chunks': () => ({
    pieces: ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n', '3\r\ndef\r\n0\r\n\r\n'],
  }),
  'as events': () => ({ pieces: [`HTTP/1.1 200 OK\r\n${EVENT_LINES}\r\n`, '9\r\ndata: 1\n\n\r\n', '0\r\n\r\n'] }),
  'as events, the first with the head': () => ({
    pieces: [`HTTP/1.1 200 OK\r\n${EVENT_LINES}\r\n9\r\ndata: 1\n\n\r\n`, '9\r\ndata: 2\n\n\r\n0\r\n\r\n'],
  }),
  'as events, all at once': () => ({
    pieces: [`HTTP/1.1 200 OK\r\n${EVENT_LINES}\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n`],
  }),
  'as events, cut in the first one': () => ({
    pieces: [`HTTP/1.1 200 OK\r\nx-flotilla-node: evil\r\n${EVENT_LINES}\r\n9\r\ndata`, ': 1\n\n\r\n0\r\n\r\n'],
  }),
  'until the end': () => ({ pieces: ['HTTP/1.1 200 OK\r\n\r\nabc'], hangsUp: true }),
  'after a word before': () => ({ pieces: [`HTTP/1.1 100 Continue\r\n\r\n${whole('200 OK', 'abc')}`] }),
  'bad request': () => ({ pieces: [whole('400 Bad Request', '{"error":{}}', JSON_LINE)] }),
  busy: () => ({ pieces: [whole('429 Too Many Requests', '{}', 'retry-after: 9\r\n')] }),
  'internal error': () => ({ pieces: [whole('500 Internal Server Error', 'oh')] }),
  'no content': () => ({ pieces: ['HTTP/1.1 204 No Content\r\n\r\n'] }),
  'not modified': () => ({ pieces: ['HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n'] }),
  'refuses: draining': () => ({ pieces: [whole('503 Service Unavailable', '{}', refusal)] }),
  'refuses: unknown': () => ({ pieces: [whole('404 Not Found', '{}', refusal)] }),
  'refuses: too long': () => ({ pieces: [whole('413 Content Too Large', '{}', refusal)] }),
  'hangs up': () => ({ pieces: [], hangsUp: true }),
  'hangs up in its head': () => ({ pieces: ['HTTP/1.1 200 OK\r\nx: '], hangsUp: true }),
  'hangs up in its body': () => ({ pieces: ['HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'], hangsUp: true }),
  'breaks off its events': () => ({ pieces: [`HTTP/1.1 200 OK\r\n${EVENT_LINES}\r\n7\r\ndata: 1\r\n`], hangsUp: true }),
  'hangs up before its events': () => ({ pieces: [`HTTP/1.1 200 OK\r\n${EVENT_LINES}\r\n`], hangsUp: true }),
  'says too much': () => ({ pieces: [`${whole('200 OK', 'abc')}and more`] }),
  'two lengths': () => ({ pieces: ['HTTP/1.1 200 OK\r\ncontent-length: 3\r\nContent-Length: 3\r\n\r\nabc'] }),
  'no HTTP': () => ({ pieces: ['what?\r\n\r\n'], hangsUp: true }),
} satisfies Record<string, (id: string) => Said>

export type Deed = keyof typeof answers
export const deeds = Object.keys(answers) as Deed[]

export interface ScriptedUpstream {
  /** The requests that it got, without what no two of them have in common. */
  readonly seen: string[]
  readonly onConnection: (socket: Socket) => void
}

/**
 * A worker, or an engine, that answers each request as its body asks: `"deeds"`, one for each time that it is sent
 * somewhere. Whoever is asked beside it counts in the same map.
 */
export function scriptedUpstream(timesSent: Map<string, number>): ScriptedUpstream {
  const seen: string[] = []
  const onRequest = (socket: Socket, head: string, body: string): void => {
    if (head.startsWith('GET ')) return void socket.write(whole('200 OK', '{}'))
    const id = /\r\nx-request-id: (.*)\r\n/i.exec(head)?.[1] ?? ''
    const times = timesSent.get(id) ?? 0
    timesSent.set(id, times + 1)
    seen.push(head.replace(/\r\nhost: [^\r]*/, '').replace(id, '<id>') + body)
    const wanted = (JSON.parse(Buffer.from(body, 'latin1').toString()) as { deeds: Deed[] }).deeds
    say(socket, answers[wanted[Math.min(times, wanted.length - 1)]!](id))
  }
  const onConnection = (socket: Socket): void => {
    let held = ''
    socket.setNoDelay().on('data', (piece: Buffer) => {
      held += piece.toString('latin1')
      for (;;) {
        const bodyAt = held.indexOf('\r\n\r\n') + 4
        const head = held.slice(0, bodyAt)
        const end = bodyAt + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
        if (bodyAt < 4 || held.length < end) return
        const body = held.slice(bodyAt, end)
        held = held.slice(end)
        onRequest(socket, head, body)
      }
    })
  }
  return { seen, onConnection }
}

function say(socket: Socket, { pieces: [piece, ...pieces], hangsUp }: Said): void {
  if (piece === undefined) return void (hangsUp && socket.destroy())
  // Later, so that it is read for itself.
  socket.write(piece, 'latin1', () => setImmediate(() => say(socket, { pieces, ...(hangsUp ? { hangsUp } : {}) })))
}
