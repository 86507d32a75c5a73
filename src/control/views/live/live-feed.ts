import type { ServerResponse } from 'node:http'
import type { PlacePolicy } from '../../../core/placement/types.ts'
import type { Clock } from '../../../platform/run/clock.ts'
import { AppError, messageOf, toAppError } from '../../../platform/errors.ts'
import type { Logger } from '../../../platform/run/log.ts'
import { RepeatedLines } from '../../../platform/run/repeated-lines.ts'
import { startLoop } from '../../../platform/run/loop.ts'
import { SseStream } from '../../../http/server/sse.ts'
import type { Database } from '../../../store/sql.ts'
import { unreadableStore } from '../../api/unreadable-store.ts'
import type { Conditions } from '../../watch/conditions.ts'
import { loadViewedWorld, newViewMemory } from '../../../store/world/viewed-world.ts'
import { messageBetween, snapshotOf } from './message.ts'
import { drawPicture, type Heard, type Picture } from './picture.ts'
import { RememberedAdvice } from './remembered-advice.ts'

export interface LiveFeedDeps {
  db: Database
  clock: Clock
  log: Logger
  placement: PlacePolicy
  heard: Heard
  conditions: Pick<Conditions, 'problems'>
}

export interface LiveFeed {
  /** Something may look different now. */
  wake(): void
  /** Sends everything, and then what changes of it, until the reader goes, is too slow, or we end. */
  stream(response: ServerResponse): Promise<void>
  /** Ends all streams. Before the HTTP server is asked to finish, or it waits for them. */
  dispose(): Promise<void>
}

/** Changes by other frontends and by heartbeats are seen within this time. */
const PERIOD_MS = 1000
/** The least time between two reads, however much happens. */
const LEAST_GAP_MS = 250
const MOST_STREAMS = 100
/** A reader with this many unread bytes, besides its first message, is cut off. It may reconnect and start anew. */
const MOST_BUFFERED_BYTES = 1024 * 1024

interface Reader {
  stream: SseStream
  response: ServerResponse
  mostBuffered: number
}

/**
 * One loop a frontend reads the store while anyone watches, and sends all readers what has changed since its last read. All
 * readers know the same, so a change is computed and written as JSON once.
 */
export function startLiveFeed({ db, clock, log, placement, heard, conditions }: LiveFeedDeps): LiveFeed {
  const readers = new Set<Reader>()
  /** Readers that have not been sent their first message. */
  const fresh = new Set<Reader>()
  const advice = new RememberedAdvice(placement, clock)
  /** What all readers know that are not fresh; undefined when there are none. */
  let picture: Picture | undefined
  const memory = newViewMemory()
  let lookedMs = -Infinity
  let cancelWake: (() => void) | undefined
  let isEnded = false

  const look = async (): Promise<Picture> => {
    lookedMs = clock.nowMs()
    const viewed = await loadViewedWorld(db, memory)
    advice.begin(viewed.world)
    return drawPicture(viewed, heard, (world, modelName) => advice.advise(world, modelName), conditions.problems())
  }
  const turn = async (): Promise<void> => {
    if (readers.size === 0) {
      picture = undefined
      return
    }
    const before = picture
    const now = await look()
    picture = now
    const message = before && messageBetween(before, now)
    if (message) tell(known(), JSON.stringify(message))
    greet(now)
  }
  const known = (): Reader[] => [...readers].filter((reader) => !fresh.has(reader))
  const tell = (some: Iterable<Reader>, json: string): void => {
    for (const { stream, response, mostBuffered } of some) {
      if (stream.sendJson(json) > mostBuffered) response.destroy()
    }
  }
  const greet = (now: Picture): void => {
    if (fresh.size === 0) return
    const json = JSON.stringify(snapshotOf(now))
    for (const reader of fresh) reader.mostBuffered = 2 * json.length + MOST_BUFFERED_BYTES
    tell(fresh, json)
    fresh.clear()
  }
  const lines = new RepeatedLines(clock)
  const onError = (thrown: unknown): void => {
    const error = messageOf(thrown)
    lines.tell(error, (repeated) => log.warn({ error, ...repeated }, 'control: cannot read the cluster for dashboards'))
    if (!picture) return
    // The last picture stays, marked as such.
    const problems = [unreadableStore(toAppError(thrown).message, picture.at), ...conditions.problems()]
    const now = { ...picture, problems }
    const message = messageBetween(picture, now)
    picture = now
    if (message) tell(known(), JSON.stringify(message))
    greet(now)
  }
  const loop = startLoop({ periodMs: PERIOD_MS, turn, clock, onError })

  const wake = (): void => {
    if (isEnded || readers.size === 0 || cancelWake) return
    const waitMs = Math.min(LEAST_GAP_MS, Math.max(0, lookedMs + LEAST_GAP_MS - clock.nowMs()))
    cancelWake = clock.after(waitMs, () => {
      cancelWake = undefined
      loop.wake()
    })
  }

  return {
    wake,
    async stream(response) {
      if (isEnded) throw new AppError('unavailable', 'Flotilla is stopping.')
      if (readers.size >= MOST_STREAMS) {
        throw new AppError('busy', `${MOST_STREAMS} dashboards watch this frontend already.`, { retryAfterS: 10 })
      }
      // The reader has gone already, so `close` will not fire again.
      if (response.destroyed) return
      const reader: Reader = { stream: new SseStream(response, clock), response, mostBuffered: Infinity }
      readers.add(reader)
      fresh.add(reader)
      response.once('close', () => {
        readers.delete(reader)
        fresh.delete(reader)
      })
      if (picture) greet(picture)
      wake()
    },
    async dispose() {
      isEnded = true
      cancelWake?.()
      for (const { stream } of readers) stream.end()
      await loop.dispose()
    },
  }
}
