import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../platform/run/clock.ts'

/** Without a word for longer than this, something on the way may take the connection for dead. */
const KEEP_ALIVE_MS = 15_000

interface ServerSentEvent {
  /** What the reader names when it comes back. */
  id?: number
  event?: string
  /** Sent as JSON, which has no line breaks. */
  data: unknown
}

/** One reader of server-sent events that are written at its own pace. */
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
      // Proxies that collect what they pass on would keep the events to themselves.
      'x-accel-buffering': 'no',
    })
    response.once('close', () => this.#cancelKeepAlive())
    this.#write(': follows\n\n')
  }

  send(events: readonly ServerSentEvent[]): void {
    if (events.length > 0) this.#write(events.map(toText).join(''))
  }

  /** What was made into JSON once for many readers. Returns how much of it and of what came before waits to be read. */
  sendJson(json: string): number {
    this.#write(`data: ${json}\n\n`)
    return this.#response.writableLength
  }

  /** Resolves when the reader has taken what it was sent; false when there will be no more: it has gone, or we end. */
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

  /** Who has not read what it was sent is cut off: waiting for it would hold up our end. */
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
      // To one that does not read, more would only pile up.
      if (this.#response.writableNeedDrain) this.#keepAlive()
      else this.#write(': still here\n\n')
    })
  }
}

function toText({ id, event, data }: ServerSentEvent): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`
  return `${head}data: ${JSON.stringify(data)}\n\n`
}
