import { EventEmitter } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Address } from './address.ts'
import { AnswerParser, type AnswerHead } from './answer-parser.ts'

export interface PooledCall extends Address {
  method: string
  path: string
  /** Name, value, name, value …; what they hold has been checked by whoever read it. */
  headers: readonly string[]
}

const MOST_IDLE = 256
/** Less than servers keep a connection that nobody uses, so that it is mostly we who give it up. */
const IDLE_MS = 30_000

/**
 * Connections to upstreams that are kept for later requests, spoken to without node:http's client, which costs several
 * times as much as all the rest of a proxy.
 */
export class ConnectionPool {
  readonly #idle = new Map<string, Socket[]>()
  readonly #all = new Set<Socket>()

  request(call: PooledCall): PooledRequest {
    return new PooledRequest(call, this.#take(call), (socket) => this.#keep(call, socket))
  }

  destroy(): void {
    for (const socket of this.#all) socket.destroy()
  }

  #take({ host, port }: Address): { socket: Socket; isReused: boolean } {
    const idle = this.#idle.get(keyOf(host, port))
    for (let socket = idle?.pop(); socket; socket = idle?.pop()) {
      if (socket.destroyed || !socket.writable) continue
      socket.setTimeout(0)
      socket.removeAllListeners()
      socket.on('error', ignore)
      this.#forget(socket)
      return { socket, isReused: true }
    }
    const socket = connect({ host, port, noDelay: true })
    socket.on('error', ignore)
    this.#all.add(socket)
    this.#forget(socket)
    return { socket, isReused: false }
  }

  #forget(socket: Socket): void {
    socket.once('close', () => this.#all.delete(socket))
  }

  #keep({ host, port }: Address, socket: Socket): void {
    const key = keyOf(host, port)
    const idle = this.#idle.get(key) ?? []
    if (idle.length >= MOST_IDLE) return void socket.destroy()
    this.#idle.set(key, idle)
    idle.push(socket)
    const drop = (): void => {
      const at = idle.indexOf(socket)
      if (at !== -1) idle.splice(at, 1)
      if (idle.length === 0 && this.#idle.get(key) === idle) this.#idle.delete(key)
      socket.destroy()
    }
    // Whatever it says now, nobody has asked.
    socket.once('data', drop).once('end', drop).once('close', drop)
    socket.setTimeout(IDLE_MS, drop)
    socket.resume()
  }
}

function keyOf(host: string, port: number): string {
  return `${host}:${port}`
}

/** Errors are told by `close`, and by those who use the connection. */
const ignore = (): void => {}

interface RequestEvents {
  response: [PooledAnswer]
  error: [Error]
  close: []
}

/** One request on a connection of the pool; as much of node:http's ClientRequest as a proxy needs. */
export class PooledRequest extends EventEmitter<RequestEvents> {
  readonly reusedSocket: boolean
  readonly #socket: Socket
  readonly #call: PooledCall
  readonly #keep: (socket: Socket) => void
  readonly #parser: AnswerParser
  #answer: PooledAnswer | undefined
  #isOver = false

  constructor(call: PooledCall, taken: { socket: Socket; isReused: boolean }, keep: (socket: Socket) => void) {
    super()
    this.#call = call
    this.#socket = taken.socket
    this.reusedSocket = taken.isReused
    this.#keep = keep
    this.#parser = new AnswerParser(call.method, {
      onHead: (head) => this.#onHead(head),
      onBody: (piece) => void this.#answer!.emit('data', piece),
      onEnd: () => this.#onEnd(),
    })
    const { socket } = taken
    socket.on('data', (bytes: Buffer) => this.#onData(bytes))
    socket.once('error', (error) => this.#fail(error))
    socket.once('end', () => this.#onSocketEnd())
    socket.once('close', () => this.#onSocketEnd())
  }

  get connecting(): boolean {
    return this.#socket.connecting
  }

  onConnected(callback: () => void): void {
    if (this.#socket.connecting) this.#socket.once('connect', callback)
    else callback()
  }

  end(body?: Buffer): void {
    const { method, path, headers } = this.#call
    let head = `${method} ${path} HTTP/1.1\r\n`
    for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`
    const socket = this.#socket
    socket.cork()
    socket.write(`${head}\r\n`, 'latin1')
    if (body && body.length > 0) socket.write(body)
    socket.uncork()
  }

  destroy(error?: Error): void {
    if (error) this.#fail(error)
    this.#isOver = true
    this.#socket.destroy()
  }

  #onData(bytes: Buffer): void {
    try {
      this.#parser.push(bytes)
    } catch (error) {
      this.#fail(error as Error)
      this.#socket.destroy()
    }
  }

  #onHead(head: AnswerHead): void {
    this.#answer = new PooledAnswer(head, this.#socket)
    this.emit('response', this.#answer)
  }

  #onEnd(): void {
    if (this.#isOver) return
    this.#isOver = true
    const answer = this.#answer!
    const socket = this.#socket
    socket.removeAllListeners('data').removeAllListeners('end').removeAllListeners('error').on('error', ignore)
    if (answer.mayKeepAlive && socket.writable) {
      socket.resume()
      this.#keep(socket)
    } else socket.destroy()
    answer.emit('end')
    this.emit('close')
  }

  #onSocketEnd(): void {
    if (this.#isOver) return
    if (this.#answer && this.#parser.close()) return
    this.#fail(Object.assign(new Error('it closed the connection'), { code: 'ECONNRESET' }))
    this.#socket.destroy()
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#answer) this.#answer.emit('error', error)
    else this.emit('error', error)
    this.emit('close')
  }
}

interface AnswerEventMap {
  data: [Buffer]
  end: []
  error: [Error]
}

/** As much of an IncomingMessage as a proxy needs. */
export class PooledAnswer extends EventEmitter<AnswerEventMap> {
  readonly statusCode: number
  readonly statusMessage: string
  readonly rawHeaders: string[]
  readonly headers: Record<string, string>
  readonly mayKeepAlive: boolean
  readonly #socket: Socket

  constructor(head: AnswerHead, socket: Socket) {
    super()
    this.statusCode = head.statusCode
    this.statusMessage = head.statusMessage
    this.rawHeaders = head.rawHeaders
    this.headers = head.headers
    this.mayKeepAlive = head.mayKeepAlive
    this.#socket = socket
    // Somebody who has seen enough may stop listening.
    this.on('error', ignore)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }
}
