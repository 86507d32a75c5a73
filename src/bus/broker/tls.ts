import type { Socket } from 'node:net'
import { createServer, type Server } from 'node:tls'

export interface BrokerTls {
  key: string | Buffer
  cert: string | Buffer
  /** When given, a client must show a certificate signed by it. */
  ca?: string | Buffer
}

interface Handshake {
  socket: Socket
  secured: (transport: Socket) => void
  failed: (detail: string) => void
}

/**
 * Turns greeted plain connections into encrypted ones. A TLS server that never listens does the work: it is the public
 * way to have Node check client certificates and bound the time of a handshake.
 */
export class TlsUpgrade {
  readonly #server: Server
  /** By remote address and port, all that the plain and the encrypted socket have in common. */
  readonly #handshakes = new Map<string, Handshake>()

  constructor({ key, cert, ca }: BrokerTls, handshakeTimeout: number) {
    const verify = ca !== undefined
    const trust = verify ? { ca, requestCert: true, rejectUnauthorized: true } : {}
    this.#server = createServer({ key, cert, handshakeTimeout, minVersion: 'TLSv1.2', ...trust })
    this.#server.on('secureConnection', (transport) => this.#take(transport)?.secured(transport))
    this.#server.on('tlsClientError', (error, transport) => this.#take(transport)?.failed(error.message))
  }

  get pending(): number {
    return this.#handshakes.size
  }

  /** Exactly one of the two is called, once, unless this is disposed first. */
  start(socket: Socket, secured: (transport: Socket) => void, failed: (detail: string) => void): void {
    const id = peerOf(socket)
    const handshake = { socket, secured, failed }
    this.#handshakes.set(id, handshake)
    const lost = (detail: string): void => {
      if (this.#handshakes.get(id) !== handshake) return
      this.#handshakes.delete(id)
      socket.destroy()
      failed(detail)
    }
    socket.on('error', (error) => lost(error.message))
    socket.on('close', () => lost('connection closed'))
    this.#server.emit('connection', socket)
  }

  dispose(): void {
    for (const { socket } of this.#handshakes.values()) socket.destroy()
    this.#handshakes.clear()
  }

  #take(transport: Socket): Handshake | undefined {
    const id = peerOf(transport)
    const handshake = this.#handshakes.get(id)
    this.#handshakes.delete(id)
    return handshake
  }
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress}|${socket.remotePort}`
}
