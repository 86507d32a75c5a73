import { randomBytes } from 'node:crypto'
import {
  NoRespondersError,
  PermissionViolationError,
  TimeoutError,
  type Msg,
  type NatsConnection,
} from '@nats-io/transport-node'
import { AppError } from '../platform/errors.ts'

/** Requests that wait for their answers at once. */
const MOST_WAITING = 10_000
/** The random part of the subject of an answer: it cannot be guessed, and each is used once. */
const TOKEN_BYTES = 16

interface Waiting {
  subject: string
  end: (answer: Msg | Error) => void
}

/**
 * The answers to the requests of one connection. The client library has the same, with tokens of eight characters of
 * `Math.random()`: of these a node sees one with each command, and could tell the next ones.
 */
export class Inbox {
  readonly #connection: NatsConnection
  readonly #base: string
  readonly #waiting = new Map<string, Waiting>()

  constructor(connection: NatsConnection, prefix: string) {
    this.#connection = connection
    this.#base = `${prefix}.${newToken()}`
    connection.subscribe(`${this.#base}.*`, {
      callback: (error, msg) => (error ? this.#endAll(error) : this.#take(msg)),
    })
    void connection.closed().then(() => this.#endAll(new Error('the connection was closed')))
  }

  /** Rejects with `NoRespondersError`, with `TimeoutError`, or with what the connection says. */
  request(subject: string, payload: Uint8Array, timeoutMs: number): Promise<Msg> {
    if (this.#waiting.size >= MOST_WAITING) {
      return Promise.reject(new AppError('busy', `${MOST_WAITING} requests on the bus wait for their answers already.`))
    }
    return new Promise((resolve, reject) => {
      const token = newToken()
      const end = (answer: Msg | Error): void => {
        clearTimeout(timer)
        this.#waiting.delete(token)
        if (answer instanceof Error) reject(answer)
        else resolve(answer)
      }
      const timer = setTimeout(() => end(new TimeoutError()), timeoutMs)
      this.#waiting.set(token, { subject, end })
      try {
        this.#connection.publish(subject, payload, { reply: `${this.#base}.${token}` })
      } catch (error) {
        end(error as Error)
      }
    })
  }

  /** The server refused a request: its answer will never come. */
  refused(error: unknown): void {
    if (!(error instanceof PermissionViolationError) || error.operation !== 'publish') return
    for (const { subject, end } of this.#waiting.values()) if (subject === error.subject) end(error)
  }

  #take(msg: Msg): void {
    const waiting = this.#waiting.get(msg.subject.slice(this.#base.length + 1))
    const hasNobody = msg.data.length === 0 && msg.headers?.code === 503
    waiting?.end(hasNobody ? new NoRespondersError(waiting.subject) : msg)
  }

  #endAll(error: Error): void {
    for (const { end } of this.#waiting.values()) end(error)
  }
}

function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}
