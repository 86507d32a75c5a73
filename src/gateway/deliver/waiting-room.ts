import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'

export interface WaitingRoomLimits {
  /** Requests of all models that this gateway runs at once. Further ones get a 503 at once: no queue spans all models. */
  running: number
  /** Requests to one model that run at once; further ones wait in order of arrival. */
  runningPerModel: number
  /** How many requests wait for one model (further ones get a 429), and for how long (then a 503). */
  waitingPerModel: number
  waitMs: number
}

const defaults: WaitingRoomLimits = {
  running: 10_000,
  runningPerModel: Number.POSITIVE_INFINITY,
  waitingPerModel: 1000,
  waitMs: 60_000,
}

const RETRY_AFTER_S = 2

interface Waiter {
  admit: () => void
}

/** So many rooms are kept when empty, so that a model with few requests does not need a new room for each. */
const FEW_ROOMS = 64

/** One model's requests. Beyond a few rooms, an empty one is forgotten, so that invented names cost no memory. */
interface Room {
  running: number
  /** A set keeps the order of arrival, and removes a waiter without a search. */
  readonly waiting: Set<Waiter>
}

/**
 * Bounds how many requests run and wait. A request waits only when its own model is full, so a freed place goes straight to
 * the first request that waits for that model, and one model's queue does not hold up another's.
 */
export class WaitingRoom {
  readonly limits: Readonly<WaitingRoomLimits>
  readonly #clock: Clock
  readonly #rooms = new Map<string, Room>()
  #running = 0

  constructor(clock: Clock, limits: Partial<WaitingRoomLimits> = {}) {
    this.#clock = clock
    this.limits = { ...defaults, ...limits }
  }

  /**
   * Resolves to the function that gives the place back; calling it again does nothing. Rejects with an AppError: `busy`
   * or `unavailable` with Retry-After, or `client_gone` as soon as the signal says so.
   */
  async enter(model: string, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw clientGone()
    const place = this.enterNow(model)
    if (place) return place
    const room = this.#rooms.get(model)
    if (!room || room.running < this.limits.runningPerModel) throw gatewayFull(this.#running)
    if (room.waiting.size >= this.limits.waitingPerModel) throw queueFull(model, room)
    await this.#wait(model, room, signal)
    return this.#placeIn(model, room)
  }

  /** The same without a wait and without a promise; undefined when there is no free place. */
  enterNow(model: string): (() => void) | undefined {
    const { running, runningPerModel } = this.limits
    const known = this.#rooms.get(model)
    const room = known ?? { running: 0, waiting: new Set() }
    if (room.running >= runningPerModel || this.#running >= running) return undefined
    if (!known) this.#rooms.set(model, room)
    room.running += 1
    this.#running += 1
    return this.#placeIn(model, room)
  }

  countsOf(model: string): { running: number; waiting: number } {
    const room = this.#rooms.get(model)
    return { running: room?.running ?? 0, waiting: room?.waiting.size ?? 0 }
  }

  /** Waiting requests by model, without zeros. */
  waiting(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const [model, room] of this.#rooms) if (room.waiting.size > 0) counts[model] = room.waiting.size
    return counts
  }

  /** Running requests of all models. */
  get running(): number {
    return this.#running
  }

  /** Resolves with the place of a request that has ended. The place is handed over, so no other request can take it. */
  #wait(model: string, room: Room, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        room.waiting.delete(waiter)
        cancelTimer()
        signal.removeEventListener('abort', onGone)
      }
      const onGone = (): void => {
        leave()
        reject(clientGone())
      }
      const waiter: Waiter = {
        admit() {
          leave()
          resolve()
        },
      }
      const cancelTimer = this.#clock.after(this.limits.waitMs, () => {
        leave()
        reject(waitedTooLong(model, room, this.limits.waitMs))
      })
      signal.addEventListener('abort', onGone, { once: true })
      room.waiting.add(waiter)
    })
  }

  #placeIn(model: string, room: Room): () => void {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      const next = room.waiting.size > 0 ? room.waiting.values().next().value : undefined
      if (next) return next.admit()
      room.running -= 1
      this.#running -= 1
      if (room.running === 0 && this.#rooms.size > FEW_ROOMS) this.#rooms.delete(model)
    }
  }
}

function clientGone(): AppError {
  return new AppError('client_gone', 'The client went away before its request was let in.')
}

function gatewayFull(running: number): AppError {
  const text = `This gateway runs ${running} requests, which is its limit. Try again in a moment, or add a gateway.`
  return new AppError('unavailable', text, { retryAfterS: RETRY_AFTER_S })
}

function queueFull(model: string, { running, waiting }: Room): AppError {
  const text = `Model "${model}" is full: ${running} requests run, which is its limit, and ${waiting.size} wait. Try again in a moment, or add replicas.`
  return new AppError('busy', text, { retryAfterS: RETRY_AFTER_S, details: { param: 'model' } })
}

function waitedTooLong(model: string, { running, waiting }: Room, waitMs: number): AppError {
  const text = `No place became free for model "${model}" in ${waitMs / 1000} s: ${running} requests run, which is its limit, and ${waiting.size} more wait. Try again, or add replicas.`
  return new AppError('unavailable', text, { retryAfterS: RETRY_AFTER_S, details: { param: 'model' } })
}
