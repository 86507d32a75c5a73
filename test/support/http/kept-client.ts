import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { AnswerParser, type AnswerHead } from '../../../src/http/upstream/answer-parser.ts'

export interface KeptAnswer {
  status: number
  reason: string
  /** Name and value, in the order of their names. */
  headers: [string, string][]
  body: string
  /** It ended as it said it would. */
  isWhole: boolean
}

/** A client that asks again and again on one connection, and makes a new one only when it must. */
export class KeptClient {
  readonly #url: URL
  #socket: Socket | undefined

  constructor(url: string) {
    this.#url = new URL(url)
  }

  /** Sends these bytes in one piece, and reads so many answers; fewer when the connection ends. */
  async ask(bytes: Buffer, count = 1): Promise<KeptAnswer[]> {
    const socket = await this.#connected()
    return new Promise((resolve) => {
      const answers: KeptAnswer[] = []
      let held = Buffer.alloc(0)
      const finish = (): void => {
        socket.off('data', onData).off('end', onEnd).off('close', onEnd)
        resolve(answers)
      }
      const onEnd = (): void => {
        this.close()
        const last = held.length > 0 ? readAnswer(held, true) : undefined
        if (last) answers.push(last.answer)
        finish()
      }
      const onData = (piece: Buffer): void => {
        held = Buffer.concat([held, piece])
        for (let next = readAnswer(held, false); next; next = readAnswer(held, false)) {
          answers.push(next.answer)
          held = held.subarray(next.end)
          if (answers.length === count) return finish()
        }
      }
      socket.on('data', onData).once('end', onEnd).once('close', onEnd)
      socket.write(bytes)
    })
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  async #connected(): Promise<Socket> {
    if (this.#socket) return this.#socket
    const socket = connect(Number(this.#url.port), this.#url.hostname)
    socket.on('error', () => {})
    // Between two answers, too.
    socket.once('end', () => this.#socket === socket && this.close())
    await once(socket, 'connect')
    this.#socket = socket
    return socket
  }
}

/** The first answer in these bytes, and where the next one begins. */
function readAnswer(bytes: Buffer, isEnd: boolean): { answer: KeptAnswer; end: number } | undefined {
  let head: AnswerHead | undefined
  let body = ''
  const parser = new AnswerParser('POST', {
    onHead: (read) => void (head = read),
    onBody: (piece) => void (body += piece.toString('latin1')),
    onEnd: () => {},
  })
  let end = 0
  while (end < bytes.length && !parser.hasEnded) {
    const next = end + pieceLength(bytes.subarray(end), head)
    parser.push(bytes.subarray(end, next))
    end = next
  }
  if (isEnd) parser.close()
  if (!head || !(parser.hasEnded || isEnd)) return undefined
  const { statusCode: status, statusMessage: reason, rawHeaders } = head
  const headers = rawHeaders.flatMap((name, i): [string, string][] =>
    i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1]!]] : [],
  )
  headers.sort((a, b) => (a.join() < b.join() ? -1 : 1))
  return { answer: { status, reason, headers, body, isWhole: parser.hasEnded }, end }
}

/** Of what may be read at once without reading too much. */
function pieceLength(bytes: Buffer, head: AnswerHead | undefined): number {
  if (head) return Math.min(bytes.length, Number(head.headers['content-length'] ?? 1))
  const headEnd = bytes.indexOf('\r\n\r\n')
  return headEnd === -1 ? bytes.length : headEnd + 4
}
