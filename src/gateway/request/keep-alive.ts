import type { LoadStatus } from '../../api/load-status.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { AppError } from '../../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { errorEvent, type ApiStyle } from '../access/api-errors.ts'
import { loadingOf } from '../cold/load-errors.ts'

/** Who is kept at the line needs no other limit, but nobody waits for ever. */
export const KEPT_FOR_MS = 3_600_000
const COMMENT_EVERY_MS = 2000

/** Whether a client that asked for a stream would rather hear comments than an error while its model is loaded. */
export function wantsKeepAlive({ headers }: HttpRequest, isStream: boolean): boolean {
  const wish = headers['x-flotilla-wait']
  return isStream && typeof wish === 'string' && wish.trim().toLowerCase() === 'keep-alive'
}

/**
 * Begins a stream of events before there is an engine to give any, and says every 2 s how far the model is, in comments,
 * which every client passes over. What comes then can only be the engine's stream or an event that says why there is none.
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

  /** Begins, or goes on, with this to tell. */
  readonly tell = (status: LoadStatus | undefined): void => {
    this.#status = status
    if (!this.#hasBegun) {
      this.#hasBegun = true
      this.#response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        // Proxies that collect what they pass on would keep the comments to themselves.
        'x-accel-buffering': 'no',
        'x-request-id': this.#requestId,
      })
    }
    if (!this.#cancelTimer) this.#comment()
  }

  /** No more comments, until there is something to tell again. */
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
    // To one that does not read, more would only pile up.
    if (!this.#isFull && !this.#response.req.socket.destroyed) this.#write(text)
    this.#cancelTimer = this.#clock.after(COMMENT_EVERY_MS, () => this.#comment())
  }
}
