import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import type { EventQueue } from '../event-queue.ts'
import type { Random } from '../random.ts'

const STACK_FRAMES = 1

/**
 * For one run, time and chance are the simulator's, also for code that does not ask a Clock or a rng of its own: ids are
 * made with `randomUUID`, jitter with `Math.random`. One run at a time in a thread; the returned function puts back what
 * was there. Times of promises are not touched: they never depend on the real clock.
 */
export function ownTimeAndChance(queue: EventQueue, random: Random): () => void {
  const before = {
    random: Math.random,
    now: Date.now,
    // oxlint-disable-next-line typescript/unbound-method -- put back where it was
    performanceNow: performance.now,
    randomUUID: crypto.randomUUID,
    randomBytes: crypto.randomBytes,
    stackTraceLimit: Error.stackTraceLimit,
  }
  // Thousands of errors are thrown and caught, and to find out where costs more than all the rest of each.
  Error.stackTraceLimit = STACK_FRAMES
  Math.random = () => random.next()
  Date.now = () => queue.nowMs
  performance.now = () => queue.nowMs
  const hex = (digits: number): string =>
    Math.floor(random.next() * 16 ** digits)
      .toString(16)
      .padStart(digits, '0')
  crypto.randomUUID = () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(6)}${hex(6)}`
  const bytes = (size: number): Buffer => Buffer.from(Array.from({ length: size }, () => random.between(0, 255)))
  Object.assign(crypto, { randomBytes: bytes })
  syncBuiltinESMExports()
  return () => {
    Error.stackTraceLimit = before.stackTraceLimit
    Math.random = before.random
    Date.now = before.now
    performance.now = before.performanceNow
    crypto.randomUUID = before.randomUUID
    crypto.randomBytes = before.randomBytes
    syncBuiltinESMExports()
  }
}
