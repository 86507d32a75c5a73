import type { LoadStatus } from '../../api/load-status.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { AppError } from '../../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { errorEvent, type ApiStyle } from '../access/api-errors.ts'
import { loadingOf } from '../cold/load-errors.ts'

/** How long a request with keep-alive comments may wait for its model. */
export const KEPT_FOR_MS = 3_600_000
const COMMENT_EVERY_MS = 2000

/** Whether a client that asked for a stream prefers comments to an error while its model is loaded. */
export function wantsKeepAlive({ headers }: HttpRequest, isStream: boolean): boolean {
  const wish = headers['x-flotilla-wait']
  return isStream && typeof wish === 'string' && wish.trim().toLowerCase() === 'keep-alive'
}

/**
 * Begins a stream of events before the model is loaded, and sends a comment with the progress every 2 s; clients ignore
 * comments. After that, only the engine's stream can follow, or an event with an error.
 */
export class KeepAlive {
  readonly #response: HttpResponse
  readonly #clock: Clock
  readonly #model: string
  readonly #requestId: string
  #status: LoadStatus | undefined
  #hasBegun = false
  #isFull = false
  #cancelTimer: (() => void) | undefined

  constructor(response: HttpResponse, clock: Clock, { model, requestId }: { model: string; requestId: string }) {
    this.#response = response
    this.#clock = clock
    this.#model = model
    this.#requestId = requestId
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Begins or continues the comments, with this status. */
  readonly tell = (status: LoadStatus | undefined): void => {
    this.#status = status
    if (!this.#hasBegun) {
      this.#hasBegun = true
      this.#response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        // Proxies that buffer answers would hold back the comments.
        'x-accel-buffering': 'no',
        'x-request-id': this.#requestId,
      })
    }
    if (!this.#cancelTimer) this.#comment()
  }

  /** Sends no more comments until the next `tell`. */
  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  end(style: ApiStyle, error: AppError): void {
    this.stop()
    this.#response.end(errorEvent(style, error))
  }

  #write(text: string): void {
    this.#isFull = !this.#response.write(text)
    if (this.#isFull) this.#response.once('drain', () => (this.#isFull = false))
  }

  #comment(): void {
    const { state, node, progress } = loadingOf(this.#model, this.#status)
    const where = node === null ? '' : ` node=${node}`
    const text = `: loading model=${this.#model} state=${state}${where} progress=${progress}\n\n`
    // For a client that does not read, comments would only pile up.
    if (!this.#isFull && !this.#response.req.socket.destroyed) this.#write(text)
    this.#cancelTimer = this.#clock.after(COMMENT_EVERY_MS, () => this.#comment())
  }
}
