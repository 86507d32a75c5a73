import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { ExchangeHandler } from '../../http/exchange.ts'

/** Longer than a frontend takes to start beside others; clients wait longer for an answer as it is. */
const HOLD_MS = 10_000
/** Each holds a connection and what has come of a body. */
const MOST_HELD = 1000

export interface EarlyRoom {
  handler: ExchangeHandler
  /** Lets those who wait through, and everybody who comes later. */
  open(door: ExchangeHandler): void
}

/**
 * Where requests for inference wait while the process that they came to starts: its port is open before it knows its
 * keys and replicas, and in a rolling restart nobody is to be turned away for coming in between.
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
