import type { ServerResponse } from 'node:http'
import type { EventView } from '../../api/admin/schemas.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import { startLoop } from '../../platform/run/loop.ts'
import type { Database } from '../../store/sql.ts'
import { listEvents, newestEventId } from '../../store/nouns/events.ts'
import { EventStream } from './event-stream.ts'

export interface EventFeedDeps {
  db: Database
  clock: Clock
  log: Logger
  /** Called with each wake, for feeds that show the current state. */
  onWake?: () => void
}

export interface EventFeed {
  /** Events were appended here: readers need not wait for the next read. */
  wake(): void
  /** The store went back in time: readers are told, and get what comes after its newest event. */
  restart(): void
  /**
   * Sends the events after `afterId` (those to come, if undefined) until the reader goes, is too slow, or we end.
   * Resolves when it has begun.
   */
  stream(response: ServerResponse, afterId: number | undefined): Promise<void>
  /** Ends all streams. Before the HTTP server is asked to finish, or it waits for them. */
  dispose(): Promise<void>
}

/** Another frontend's events are seen within this time; our own at once. */
const PERIOD_MS = 1000
const MOST_STREAMS = 500
/** Read and sent in one piece. */
const PAGE = 500

/**
 * One loop a frontend reads what is new in the store, the only place where all events are in order, and hands it to all
 * streams. Each stream knows the last event it was sent, so none is missed or sent twice, however it started.
 */
export function startEventFeed({ db, clock, log, onWake }: EventFeedDeps): EventFeed {
  const streams = new Set<EventStream>()
  /** Streams that have been sent all that was stored when they began. */
  const live = new Set<EventStream>()
  let ended = false
  /** Told from outside; readers hear of it at the next look. */
  let isWentBack = false

  const turn = async (): Promise<void> => {
    if (live.size === 0) {
      isWentBack = false
      return
    }
    const readers = [...live]
    const events = await listEvents(db, Math.min(...readers.map(({ lastId }) => lastId)), PAGE)
    const highest = Math.max(...readers.map(({ lastId }) => lastId))
    // The store has not reached the reader's number yet.
    const isAhead = (events.at(-1)?.id ?? 0) < highest
    const newestId = isWentBack || isAhead ? await newestEventId(db) : highest
    if (isWentBack || newestId < highest) {
      for (const stream of readers)
        if (isWentBack || stream.lastId > newestId) stream.restart(restartAt(newestId, clock.nowMs()))
      isWentBack = false
      return
    }
    for (const stream of readers) stream.send(events)
    if (events.length === PAGE) loop.wake()
  }
  const lines = new RepeatedLines(clock)
  const onError = (thrown: unknown): void => {
    const error = messageOf(thrown)
    lines.tell(error, (repeated) => log.warn({ error, ...repeated }, 'control: events cannot be read'))
  }
  const loop = startLoop({ periodMs: PERIOD_MS, turn, clock, onError })

  /** In pages and at the reader's pace: ten thousand events at once would make every reader a slow one. */
  const catchUp = async (stream: EventStream): Promise<void> => {
    for (;;) {
      const events = await listEvents(db, stream.lastId, PAGE)
      if (!streams.has(stream)) return
      stream.send(events)
      if (events.length < PAGE) break
      if (!(await stream.drained())) return
    }
    live.add(stream)
    loop.wake()
  }

  return {
    wake() {
      loop.wake()
      onWake?.()
    },
    restart() {
      isWentBack = true
      loop.wake()
    },
    async stream(response, afterId) {
      if (streams.size >= MOST_STREAMS) {
        throw new AppError('busy', `${MOST_STREAMS} readers follow the events already.`, { retryAfterS: 10 })
      }
      const newestId = await newestEventId(db)
      if (ended) throw new AppError('unavailable', 'Flotilla is stopping.')
      // The reader has gone already, so `close` will not fire again.
      if (response.destroyed) return
      // A number from an older state of the store would wait for ever.
      const stream = new EventStream(response, clock, Math.min(afterId ?? newestId, newestId))
      if (afterId !== undefined && afterId > newestId) stream.restart(restartAt(newestId, clock.nowMs()))
      streams.add(stream)
      response.once('close', () => {
        stream.end()
        streams.delete(stream)
        live.delete(stream)
      })
      catchUp(stream).catch((error: unknown) => {
        onError(error)
        stream.end()
      })
    },
    async dispose() {
      ended = true
      for (const stream of streams) stream.end()
      await loop.dispose()
    },
  }
}

/** Shaped like an event, and in no store: a reader goes on after its number, and drops later events that it knows. */
function restartAt(newestId: number, nowMs: number): EventView {
  return {
    id: newestId,
    at: nowMs,
    actor: 'control',
    address: null,
    action: 'events.restarted',
    node_id: null,
    model_name: null,
    reason: `the store went back in time: the newest event is ${newestId}, and numbers go on from there`,
    data: {},
  }
}
