import type { Socket } from 'node:net'
import type { Clock } from '../../platform/run/clock.ts'
import type { DisconnectReason } from './events.ts'
import type { BrokerLimits } from './limits.ts'
import { Intake } from './intake.ts'
import { Outbox, type Postroom } from './outbox.ts'

/** How long a connection that was told its error may take to read it. */
const LINGER_MS = 1_000

export interface ConnectionOwner {
  /** Returns how many messages were in it. */
  data(chunk: Buffer): number
  slowConsumer(pendingBytes: number): void
  /** Nothing arrives and nothing can be sent from here on; called once, before the socket is wholly gone. */
  leaving(): void
  /** The socket is gone; called once, after `leaving`. */
  closed(reason: DisconnectReason, detail: string | undefined): void
}

/**
 * The life of one socket, whatever is said over it (a TLS handshake is over by then).
 *
 *     open ──end──▶ lingering ──peer closed, or LINGER_MS──▶ closed
 *       └──── peer closed, slow consumer, broker stopped ────▲
 *
 * lingering:  the error and an end are on their way; what still arrives is thrown away. Closing at once would make the
 *             kernel answer with a reset, and the peer might never read why.
 * closed:     no timer or buffer is left.
 */
export class Connection {
  readonly #socket: Socket
  readonly #clock: Clock
  readonly #limits: BrokerLimits
  readonly #outbox: Outbox
  readonly #owner: ConnectionOwner
  #state: 'open' | 'lingering' | 'closed' = 'open'
  #heardSincePing = false
  #pingsOut = 0
  #reason: DisconnectReason | undefined
  #detail: string | undefined
  #cancelTimer = (): void => {}
  #intake: Intake | undefined

  constructor(
    socket: Socket,
    { clock, limits, postroom }: { clock: Clock; limits: BrokerLimits; postroom: Postroom },
    owner: ConnectionOwner,
  ) {
    this.#socket = socket
    this.#clock = clock
    this.#limits = limits
    this.#owner = owner
    this.#outbox = new Outbox(socket, postroom, limits.maxPendingBytes, (pendingBytes) => {
      owner.slowConsumer(pendingBytes)
      this.destroy('slow consumer')
    })
    socket.on('data', (chunk: Buffer) => {
      this.#heardSincePing = true
      if (this.#state !== 'open') return
      const messages = owner.data(chunk)
      this.#intake?.take(chunk.length, messages, socket)
    })
    socket.on('error', (error) => this.#note('connection lost', error.message))
    socket.on('close', () => this.#close())
  }

  send(text: string): void {
    this.#outbox.text(text)
  }

  sendMessage(head: string, tail: Uint8Array): void {
    this.#outbox.message(head, tail)
  }

  /** From here on what arrives is read no faster than the limits say. */
  limitIntake(): void {
    const { clientBytesPerS: bytesPerS, clientMessagesPerS: messagesPerS } = this.#limits
    this.#intake ??= new Intake(this.#clock, { bytesPerS, messagesPerS })
  }

  /** There is one timer: the one for authentication, until pings take its place. */
  limitTime(ms: number, expired: () => void): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#clock.after(ms, expired)
  }

  /** Asks a silent peer for a sign of life. Anything heard is one, so a busy connection is never asked. */
  keepPinging(): void {
    this.limitTime(this.#limits.pingIntervalMs, () => {
      if (this.#heardSincePing) this.#pingsOut = 0
      else if (this.#pingsOut >= this.#limits.maxPingsOut) {
        this.send("-ERR 'Stale Connection'\r\n")
        return this.end('stale')
      } else {
        this.#pingsOut += 1
        this.send('PING\r\n')
      }
      this.#heardSincePing = false
      this.keepPinging()
    })
  }

  /** Sends what is queued, then closes. */
  end(reason: DisconnectReason, detail?: string): void {
    if (this.#state !== 'open') return
    this.#note(reason, detail)
    this.#state = 'lingering'
    this.#owner.leaving()
    // What it sends is thrown away from here on, and its end must be seen.
    this.#intake?.dispose()
    this.#socket.resume()
    this.limitTime(LINGER_MS, () => this.#socket.destroy())
    this.#outbox.end()
    this.#socket.end()
  }

  /** Closes at once, without an error. */
  destroy(reason: DisconnectReason): void {
    this.#note(reason)
    this.#close()
    this.#socket.destroy()
  }

  #close(): void {
    if (this.#state === 'closed') return
    const wasOpen = this.#state === 'open'
    this.#state = 'closed'
    this.#cancelTimer()
    this.#intake?.dispose()
    this.#outbox.close()
    if (wasOpen) this.#owner.leaving()
    this.#owner.closed(this.#reason ?? 'client closed', this.#detail)
  }

  /** The first reason is the cause; what follows is its consequence. */
  #note(reason: DisconnectReason, detail?: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#detail = detail
  }
}
