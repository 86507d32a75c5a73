import { createSecureContext, connect, type ConnectionOptions, type SecureContext, type TLSSocket } from 'node:tls'
import type { AppError } from '../errors.ts'
import type { CertificatePair } from './certificate-pair.ts'
import { pinProblem } from './trust.ts'

/** Whom to connect to, and the certificate that he must show. */
export interface PinnedServer {
  host: string
  port: number
  fingerprint: string
}

/** Sessions that are kept, to go on with at the next connection; of the servers that were used last. */
const MOST_SESSIONS = 1000

/** Connects to servers that are known by their certificates, and shows them one of its own. */
export class ClientTls {
  #context: SecureContext | undefined
  readonly #sessions = new Map<string, Buffer>()

  /** What is shown from now on. Until there is any, nothing is: then servers that ask for one refuse. */
  show({ cert, key }: CertificatePair): void {
    this.#context = createSecureContext({ cert, key, minVersion: 'TLSv1.2' })
    this.#sessions.clear()
  }

  /**
   * Resolves nothing: the connection is there at once, and holds back what is written until the other side has shown the
   * right certificate. It fails as one that could not be connected if that does not happen, so nothing was sent then.
   */
  connect({ host, port, fingerprint }: PinnedServer, options: ConnectionOptions = {}): TLSSocket {
    const at = `${host} ${port} ${fingerprint}`
    const session = this.#sessions.get(at)
    const socket = connect({
      ...options,
      host,
      port,
      servername: '',
      // Who made it out means nothing here: the certificate itself is known, and looked at below.
      rejectUnauthorized: false,
      ...(this.#context ? { secureContext: this.#context } : {}),
      ...(session ? { session } : {}),
    })
    socket.setNoDelay(true)
    socket.cork()
    let isKnown = false
    socket.on('session', (next) => isKnown && this.#keep(at, next))
    socket.prependOnceListener('secureConnect', () => {
      // Who goes on with a session shows no certificate again: only the one who began it, and showed it then, can do that.
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

/** An upstream that is spoken to in TLS. */
export interface UpstreamTls {
  client: ClientTls
  fingerprint: string
}
