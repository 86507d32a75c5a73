import { createSecureContext, connect, type ConnectionOptions, type SecureContext, type TLSSocket } from 'node:tls'
import type { AppError } from '../errors.ts'
import type { CertificatePair } from './certificate-pair.ts'
import { pinProblem } from './trust.ts'

/** A server's address, and the certificate that it must show. */
export interface PinnedServer {
  host: string
  port: number
  fingerprint: string
}

/** How many TLS sessions are kept for resumption; the least recently used are dropped. */
const MOST_SESSIONS = 1000

/** Connects to servers that are pinned by their certificates, and shows them one of its own. */
export class ClientTls {
  #context: SecureContext | undefined
  readonly #sessions = new Map<string, Buffer>()

  /** The certificate to show from now on. Without one, servers that ask for it refuse the connection. */
  show({ cert, key }: CertificatePair): void {
    this.#context = createSecureContext({ cert, key, minVersion: 'TLSv1.2' })
    this.#sessions.clear()
  }

  /**
   * Returns the socket at once; it holds back writes until the server has shown the right certificate. If that does not
   * happen, it fails like an unreachable server, so no request byte was sent.
   */
  connect({ host, port, fingerprint }: PinnedServer, options: ConnectionOptions = {}): TLSSocket {
    const at = `${host} ${port} ${fingerprint}`
    const session = this.#sessions.get(at)
    const socket = connect({
      ...options,
      host,
      port,
      servername: '',
      // The issuer does not matter: the certificate itself is pinned and checked below.
      rejectUnauthorized: false,
      ...(this.#context ? { secureContext: this.#context } : {}),
      ...(session ? { session } : {}),
    })
    socket.setNoDelay(true)
    socket.cork()
    let isKnown = false
    socket.on('session', (next) => isKnown && this.#keep(at, next))
    socket.prependOnceListener('secureConnect', () => {
      // A resumed session shows no certificate; only the server that began the session, and showed it then, can resume
      // it.
      const isResumed = session !== undefined && socket.isSessionReused()
      const shown = (): AppError | undefined =>
        pinProblem(`${host}:${port}`, socket.getPeerX509Certificate(), [fingerprint])
      const problem = isResumed ? undefined : shown()
      isKnown = !problem
      if (!problem) return socket.uncork()
      this.#sessions.delete(at)
      socket.destroy(Object.assign(problem, { syscall: 'connect' }))
    })
    return socket
  }

  #keep(at: string, session: Buffer): void {
    this.#sessions.delete(at)
    this.#sessions.set(at, session)
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size > MOST_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest)
  }
}

/** An upstream that is reached by TLS. */
export interface UpstreamTls {
  client: ClientTls
  fingerprint: string
}
