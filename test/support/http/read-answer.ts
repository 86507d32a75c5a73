import { Duplex } from 'node:stream'
import { AnswerParser, type AnswerHead } from '../../../src/http/upstream/answer-parser.ts'
import { request as httpRequest } from '../../../src/http/server/node-http.ts'

/** An answer as it was understood. */
export interface ReadAnswer {
  head: { status: number; reason: string; rawHeaders: string[] } | undefined
  /** As much of it as was told. */
  body: string
  end: 'whole' | 'waits' | 'refused'
  /** The connection may have another request after it. */
  mayKeepAlive: boolean
}

export interface AnswerContext {
  /** Of the request. */
  method: 'POST' | 'GET' | 'HEAD'
  /** The connection ends after the bytes. */
  isClosed: boolean
}

export const answerContexts: readonly AnswerContext[] = (['POST', 'GET', 'HEAD'] as const).flatMap((method) =>
  [false, true].map((isClosed) => ({ method, isClosed })),
)
const PLAIN: AnswerContext = { method: 'POST', isClosed: false }

/** Lets our parser read these pieces, all in one buffer in which there is something else when it has had its turn. */
export function readAnswerByUs(pieces: readonly Buffer[], { method, isClosed } = PLAIN): ReadAnswer {
  const read: ReadAnswer = { head: undefined, body: '', end: 'waits', mayKeepAlive: false }
  const parser = new AnswerParser(method, {
    onHead: ({ statusCode, statusMessage, rawHeaders }: AnswerHead) =>
      void (read.head = { status: statusCode, reason: statusMessage, rawHeaders }),
    onBody: (piece) => void (read.body += piece.toString('latin1')),
    onEnd: () => void (read.end = 'whole'),
  })
  const shared = Buffer.alloc(Math.max(0, ...pieces.map(({ length }) => length)))
  try {
    for (const piece of pieces) {
      parser.push(shared.subarray(0, piece.copy(shared)))
      shared.fill(0)
    }
    if (isClosed && !parser.close()) read.end = 'refused'
  } catch {
    read.end = 'refused'
  }
  read.mayKeepAlive = read.end === 'whole' && parser.mayKeepAlive
  return read
}

/** Lets the parser of node:http's client (llhttp) read them, as strictly as it comes. */
export async function readAnswerByNode(bytes: Buffer, { method, isClosed } = PLAIN): Promise<ReadAnswer> {
  const read: ReadAnswer = { head: undefined, body: '', end: 'waits', mayKeepAlive: false }
  const socket = new Duplex({ read() {}, write: (_piece, _coding, done) => done() })
  const asked = httpRequest({
    method,
    createConnection: () => socket,
    headers: { connection: 'keep-alive' },
    maxHeaderSize: 64 * 1024,
  })
  const refuse = (): void => void (read.end = read.end === 'whole' ? read.end : 'refused')
  asked.on('error', refuse)
  asked.on('response', (answer) => {
    const { statusCode = 0, statusMessage = '', rawHeaders } = answer
    read.head = { status: statusCode, reason: statusMessage, rawHeaders }
    // As llhttp has it: the request's own says whether both sides want to go on.
    read.mayKeepAlive = asked.shouldKeepAlive
    answer.on('error', refuse)
    answer.on('data', (piece: Buffer) => void (read.body += piece.toString('latin1')))
    answer.on('end', () => void (read.end = answer.complete ? 'whole' : 'refused'))
  })
  asked.end()
  await turns()
  socket.push(bytes)
  await turns()
  if (isClosed) socket.push(null)
  await turns()
  socket.destroy()
  asked.destroy()
  return read
}

async function turns(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve))
}
