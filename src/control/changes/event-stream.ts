import type { ServerResponse } from 'node:http'
import type { EventView } from '../../api/admin/schemas.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { SseStream } from '../../http/server/sse.ts'

/** A reader with this many unread bytes is cut off; it can reconnect and resume where it was. */
const MOST_BUFFERED_BYTES = 1024 * 1024
const DRAIN_LIMIT_MS = 30_000

/** One reader of the events, as server-sent events. */
export class EventStream {
  /** The last event it was sent. */
  lastId: number
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #stream: SseStream
  readonly #ended = new AbortController()

  constructor(response: ServerResponse, clock: Clock, lastId: number) {
    this.#response = response
    this.#clock = clock
    this.lastId = lastId
    this.#stream = new SseStream(response, clock)
  }

  /** Sends those that it has not been sent yet. */
  send(events: readonly EventView[]): void {
    const news = events.filter(({ id }) => id > this.lastId)
    if (news.length === 0) return
    this.lastId = news.at(-1)!.id
    this.#stream.send(news.map((event) => ({ id: event.id, event: event.action, data: event })))
    if (this.#response.writableLength > MOST_BUFFERED_BYTES) this.#response.destroy()
  }

  /** The store went back: this event says so, and the numbers go on after it. */
  restart(event: EventView): void {
    this.lastId = event.id
    this.#stream.send([{ id: event.id, event: event.action, data: event }])
  }

  /** False when the reader has gone or does not read. */
  async drained(): Promise<boolean> {
    const cancel = this.#clock.after(DRAIN_LIMIT_MS, () => this.#response.destroy())
    const isDrained = await this.#stream.drained(this.#ended.signal)
    cancel()
    return isDrained
  }

  end(): void {
    this.#ended.abort()
    this.#stream.end()
  }
}
