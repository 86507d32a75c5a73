import { connect, type Socket } from 'node:net'

export interface RawOptions {
  /** Sent in CONNECT; `false` sends none. What it leaves out is as a quiet client would have it. */
  connect?: Record<string, unknown> | false
  /** Does not answer the server's own PINGs, and shows them. */
  silent?: boolean
}

const WAIT_LIMIT_MS = 10_000
const FENCE = 'PONG\r\n'

/** The marker for an end of the connection in what was received. */
export const CLOSED = '<closed>'

/** A client that shows the bytes. Everything it reads is text of one character per byte. */
export class RawClient {
  readonly #socket: Socket
  #received = ''
  #closed = false
  #look = (): void => {}
  info: Record<string, unknown> = {}

  static async open(
    server: { host: string; port: number },
    { connect: options = {}, silent = false }: RawOptions,
  ): Promise<RawClient> {
    const raw = new RawClient(connect({ host: server.host, port: server.port, noDelay: true }), silent)
    const greeting = await raw.#until((text) => text.includes('\r\n') || text.includes(CLOSED))
    const end = greeting.indexOf('\r\n')
    raw.info = JSON.parse(greeting.slice('INFO '.length, end)) as Record<string, unknown>
    raw.#received = greeting.slice(end + 2)
    if (options) raw.send(connectLine(options))
    return raw
  }

  constructor(socket: Socket, silent: boolean) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.#received += text
      if (!silent) this.#answerPings()
      this.#look()
    })
    // A reset is an end like any other; what was said before it is what counts.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#closed = true
      this.#look()
    })
  }

  send(text: string): void {
    this.#socket.write(text, 'latin1')
  }

  /**
   * Sends `text` and returns all that came in up to the point where the server has dealt with it. The fence is a PING:
   * its PONG comes after everything the server had to say to this client before.
   */
  async say(text: string): Promise<string> {
    this.send(`${text}PING\r\n`)
    const answer = await this.#until((received) => received.includes(FENCE) || received.endsWith(CLOSED))
    const end = answer.indexOf(FENCE)
    if (end < 0) return answer
    this.#received = answer.slice(end + FENCE.length)
    return answer.slice(0, end)
  }

  /** All that came in since, once `text` is among it or the connection ended. */
  until(text: string): Promise<string> {
    return this.#until((received) => received.includes(text) || received.endsWith(CLOSED))
  }

  /** All that came in until the connection ended. */
  untilClosed(): Promise<string> {
    return this.#until((received) => received.endsWith(CLOSED))
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(): void {
    this.#socket.destroy()
  }

  /** nats-server sends one soon after the start; no test should depend on whether it came yet. */
  #answerPings(): void {
    const without = this.#received.replace(/(^|\n)PING\r\n/, '$1')
    if (without === this.#received) return
    this.#received = without
    this.send('PONG\r\n')
  }

  /** Takes all that was received, once it satisfies `enough`. */
  #until(enough: (received: string) => boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#look = () => {}
        reject(new Error(`waited ${WAIT_LIMIT_MS} ms; received so far: ${JSON.stringify(this.#received.slice(-500))}`))
      }, WAIT_LIMIT_MS)
      this.#look = () => {
        const received = this.#closed ? `${this.#received}${CLOSED}` : this.#received
        if (!enough(received)) return
        clearTimeout(timer)
        this.#look = () => {}
        this.#received = ''
        resolve(received)
      }
      this.#look()
    })
  }
}

export function connectLine(options: Record<string, unknown> = {}): string {
  return `CONNECT ${JSON.stringify({ verbose: false, pedantic: false, ...options })}\r\n`
}
