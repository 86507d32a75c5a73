import type { Socket } from 'node:net'
import { createServer, type Server } from 'node:tls'

/** The certificate that is shown to clients. */
export interface ShownCertificate {
  key: string | Buffer
  cert: string | Buffer
  /** When given, a client must show a certificate signed by it. */
  ca?: string | Buffer | undefined
}

interface Handshake {
  socket: Socket
  secured: (transport: Socket) => void
  failed: (detail: string) => void
}

/**
 * Turns plain connections into encrypted ones. A TLS server that never listens does the work: it is the public way to
 * have Node check client certificates, limit the time of a handshake and change the certificate for later clients.
 */
export class TlsUpgrade {
  readonly #server: Server
  /** By the addresses of both ends, the only thing that the plain and the encrypted socket have in common. */
  readonly #handshakes = new Map<string, Handshake>()

  constructor(shown: ShownCertificate, handshakeTimeout: number) {
    const verify = shown.ca !== undefined
    this.#server = createServer({
      ...contextOf(shown),
      handshakeTimeout,
      requestCert: verify,
      rejectUnauthorized: verify,
    })
    this.#server.on('secureConnection', (transport) => this.#take(transport)?.secured(transport))
    this.#server.on('tlsClientError', (error, transport) => {
      const handshake = this.#take(transport)
      // Node does not close a connection whose handshake timed out.
      handshake?.socket.destroy()
      handshake?.failed(error.message)
    })
  }

  get pending(): number {
    return this.#handshakes.size
  }

  /** Later clients see this certificate. Whether clients must show one, too, does not change. */
  replace(shown: ShownCertificate): void {
    this.#server.setSecureContext(contextOf(shown))
  }

  /** Calls exactly one of the two, once, unless this is disposed first. */
  start(socket: Socket, secured: (transport: Socket) => void, failed: (detail: string) => void): void {
    const id = endsOf(socket)
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
    const id = endsOf(transport)
    const handshake = this.#handshakes.get(id)
    this.#handshakes.delete(id)
    return handshake
  }
}

function contextOf({ key, cert, ca }: ShownCertificate) {
  return { key, cert, minVersion: 'TLSv1.2' as const, ...(ca === undefined ? {} : { ca }) }
}

function endsOf(socket: Socket): string {
  return `${socket.remoteAddress}|${socket.remotePort}|${socket.localAddress}|${socket.localPort}`
}
