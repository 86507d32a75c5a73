import { AuthorizationError, UserAuthenticationExpiredError, type NatsConnection } from '@nats-io/transport-node'
import type { BusRole } from '../api/bus/subjects.ts'
import type { Logger } from '../platform/run/log.ts'
import type { RepeatedLines } from '../platform/run/repeated-lines.ts'

export interface ConnectionStateDeps {
  connection: Pick<NatsConnection, 'status' | 'isClosed'>
  role: BusRole
  log: Logger
  lines: RepeatedLines
  /** The server has reported an error. */
  onError: (error: Error) => void
}

/** Whether a client is connected to the bus, for as long as it lives; it reconnects by itself. */
export class ConnectionState {
  readonly #deps: ConnectionStateDeps
  readonly #reconnected: (() => void)[] = []
  #isConnected = true
  #isRefused = false
  #isExpired = false

  constructor(deps: ConnectionStateDeps) {
    this.#deps = deps
    void this.#follow()
  }

  isConnected(): boolean {
    return this.#isConnected && !this.#deps.connection.isClosed()
  }

  /** The server does not accept the credentials. */
  isRefused(): boolean {
    return this.#isRefused || this.#deps.connection.isClosed()
  }

  onReconnect(callback: () => void): void {
    this.#reconnected.push(callback)
  }

  async #follow(): Promise<void> {
    for await (const status of this.#deps.connection.status()) {
      if (status.type === 'disconnect') this.#lost()
      else if (status.type === 'reconnect' && !this.#isConnected) this.#back()
      else if (status.type === 'error') this.#failed(status.error)
    }
  }

  #lost(): void {
    const { role, log, lines } = this.#deps
    // Logged once: every failed attempt to reconnect is a disconnect, too. An expired JWT is replaced routinely.
    if (this.#isConnected && !this.#isExpired) {
      lines.tell('lost', (repeated) => log.warn({ role, ...repeated }, 'bus: connection lost, reconnecting'))
    }
    this.#isConnected = false
  }

  #back(): void {
    const { role, log, lines } = this.#deps
    if (!this.#isExpired) lines.tell('back', (repeated) => log.info({ role, ...repeated }, 'bus: connected again'))
    this.#isConnected = true
    this.#isRefused = this.#isExpired = false
    for (const callback of this.#reconnected) callback()
  }

  #failed(error: Error): void {
    const { role, log, lines, onError } = this.#deps
    onError(error)
    this.#isExpired ||= error instanceof UserAuthenticationExpiredError
    this.#isRefused ||= error instanceof AuthorizationError
    // Each attempt to reconnect may fail with the same error.
    if (this.#isExpired) return
    lines.tell(`error ${error.message}`, (repeated) =>
      log.warn({ role, error: error.message, ...repeated }, 'bus: the server reported an error'),
    )
  }
}
