import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { EventView } from '../api/admin/schemas.ts'
import type { Clock } from '../platform/clock.ts'

/** Without a word for longer than this, something on the way may take the connection for dead. */
const KEEP_ALIVE_MS = 15_000
/** Who does not read while this much waits is not reading; it can come back and go on where it was. */
const MOST_BUFFERED_BYTES = 1024 * 1024
const DRAIN_LIMIT_MS = 30_000

/** One reader of the events, as server-sent events. */
export class EventStream {
  /** The last event it was sent. */
  lastId: number
  readonly #response: ServerResponse
  readonly #clock: Clock
  #cancelKeepAlive = (): void => {}

  constructor(response: ServerResponse, clock: Clock, lastId: number) {
    this.#response = response
    this.#clock = clock
    this.lastId = lastId
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // Proxies that collect what they pass on would keep the events to themselves.
      'x-accel-buffering': 'no',
    })
    this.#write(': follows\n\n')
  }

  /** Sends those that it has not been sent yet. */
  send(events: readonly EventView[]): void {
    const news = events.filter(({ id }) => id > this.lastId)
    if (news.length === 0) return
    this.lastId = news.at(-1)!.id
    this.#write(news.map(toText).join(''))
  }

  /** False when the reader has gone or does not read. */
  async drained(): Promise<boolean> {
    const response = this.#response
    if (response.destroyed || response.writableEnded) return false
    if (!response.writableNeedDrain) return true
    const stop = new AbortController()
    const cancel = this.#clock.after(DRAIN_LIMIT_MS, () => response.destroy())
    try {
      await Promise.race([once(response, 'drain', stop), once(response, 'close', stop)])
    } finally {
      cancel()
      stop.abort()
    }
    return !response.destroyed
  }

  end(): void {
    this.#cancelKeepAlive()
    if (!this.#response.destroyed) this.#response.end()
  }

  #write(text: string): void {
    const response = this.#response
    if (response.destroyed || response.writableEnded) return
    response.write(text)
    if (response.writableLength > MOST_BUFFERED_BYTES) {
      response.destroy()
      return
    }
    this.#cancelKeepAlive()
    this.#cancelKeepAlive = this.#clock.after(KEEP_ALIVE_MS, () => this.#write(': still here\n\n'))
  }
}

/** JSON has no line breaks, so one `data:` line holds it all. */
function toText(event: EventView): string {
  return `id: ${event.id}\nevent: ${event.action}\ndata: ${JSON.stringify(event)}\n\n`
}
