import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { ExchangeHandler } from '../../http/exchange.ts'

/** Longer than a frontend takes to start beside others; clients wait longer for an answer anyway. */
const HOLD_MS = 10_000
/** Each waiting request holds a connection and the part of its body that has arrived. */
const MOST_HELD = 1000

export interface EarlyRoom {
  handler: ExchangeHandler
  /** Releases the waiting requests, and passes all later ones. */
  open(door: ExchangeHandler): void
}

/**
 * Inference requests wait here while their process starts: its port is open before it knows its keys and replicas, and
 * a rolling restart must not refuse requests that arrive in between.
 */
export function earlyRoom(clock: Clock, { holdMs = HOLD_MS, mostHeld = MOST_HELD } = {}): EarlyRoom {
  let opened: ExchangeHandler | undefined
  const { promise: open, resolve: letIn } = Promise.withResolvers<void>()
  let held = 0
  return {
    handler(request, response) {
      if (opened) return opened(request, response)
      if (held >= mostHeld) throw starting()
      held += 1
      return withinTime(clock, holdMs, open)
        .finally(() => (held -= 1))
        .then(() => opened!(request, response))
    },
    open(door) {
      opened = door
      letIn()
    },
  }
}

export function starting(): AppError {
  return new AppError('unavailable', 'Flotilla is starting. Try again in a moment.', { retryAfterS: 1 })
}

function withinTime(clock: Clock, limitMs: number, promise: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(limitMs, () => reject(starting()))
    void promise.then(() => {
      cancel()
      resolve()
    })
  })
}
