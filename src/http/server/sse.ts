import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../platform/run/clock.ts'

/** Proxies may take a connection for dead when nothing is sent for longer than this. */
const KEEP_ALIVE_MS = 15_000

interface ServerSentEvent {
  /** The reader names it in Last-Event-ID when it reconnects. */
  id?: number
  event?: string
  /** Sent as JSON, which has no line breaks. */
  data: unknown
}

/** One stream of server-sent events, written at the pace of its reader. */
export class SseStream {
  readonly #response: ServerResponse
  readonly #clock: Clock
  #cancelKeepAlive = (): void => {}

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response
    this.#clock = clock
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // Proxies that buffer answers would hold back the events.
      'x-accel-buffering': 'no',
    })
    response.once('close', () => this.#cancelKeepAlive())
    this.#write(': follows\n\n')
  }

  send(events: readonly ServerSentEvent[]): void {
    if (events.length > 0) this.#write(events.map(toText).join(''))
  }

  /** Sends JSON that was made once for many readers. Returns how many bytes now wait for this reader. */
  sendJson(json: string): number {
    this.#write(`data: ${json}\n\n`)
    return this.#response.writableLength
  }

  /** Resolves when the reader has taken all that was sent; false when the reader has gone or `signal` is aborted. */
  async drained(signal: AbortSignal): Promise<boolean> {
    const response = this.#response
    if (response.writableNeedDrain && !response.destroyed && !signal.aborted) {
      const settled = new AbortController()
      const either = AbortSignal.any([signal, settled.signal])
      await Promise.race([
        once(response, 'drain', { signal: either }),
        once(response, 'close', { signal: either }),
      ]).catch(() => {})
      settled.abort()
    }
    return !response.destroyed && !signal.aborted
  }

  /** Cuts off a reader that has not taken all that was sent: waiting for it would hold up the shutdown. */
  end(): void {
    this.#cancelKeepAlive()
    if (this.#response.writableNeedDrain) this.#response.destroy()
    else this.#response.end()
  }

  #write(text: string): void {
    const response = this.#response
    if (response.destroyed || response.writableEnded) return
    response.write(text)
    this.#keepAlive()
  }

  #keepAlive(): void {
    this.#cancelKeepAlive()
    this.#cancelKeepAlive = this.#clock.after(KEEP_ALIVE_MS, () => {
      // For a reader that does not read, keep-alives would only pile up.
      if (this.#response.writableNeedDrain) this.#keepAlive()
      else this.#write(': still here\n\n')
    })
  }
}

function toText({ id, event, data }: ServerSentEvent): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`
  return `${head}data: ${JSON.stringify(data)}\n\n`
}
