import { sleep, type Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'

/** A failure that may succeed on a retry. Any other error is final. */
export class Interruption extends Error {
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs = 0) {
    super(message)
    this.name = 'Interruption'
    this.retryAfterMs = retryAfterMs
  }
}

export interface RetryLimits {
  /** Consecutive tries without progress. */
  mostTries: number
  firstDelayMs: number
  mostDelayMs: number
}

export const retryLimits: RetryLimits = { mostTries: 8, firstDelayMs: 500, mostDelayMs: 30_000 }

/** Ends tries on a server that delivers only a few bytes each time. */
const MOST_TRIES_IN_ALL = 10_000
/** The upper limit for a server's Retry-After. */
const MOST_RETRY_AFTER_MS = 5 * 60_000

export interface Persistence {
  clock: Clock
  log: Logger
  random: () => number
  limits: RetryLimits
}

/**
 * Repeats the work until it succeeds, fails for good, or makes no progress for too long. `reached` measures the
 * progress.
 */
export async function persist<T>(
  label: string,
  { clock, log, random, limits }: Persistence,
  signal: AbortSignal,
  reached: () => number,
  attempt: (count: number) => Promise<T>,
): Promise<T> {
  let best = reached()
  let fruitless = 0
  for (let count = 0; ; count += 1) {
    signal.throwIfAborted()
    try {
      return await attempt(count)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof Interruption)) throw error
      fruitless = reached() > best ? 0 : fruitless + 1
      best = Math.max(best, reached())
      if (fruitless >= limits.mostTries || count >= MOST_TRIES_IN_ALL) throw givenUp(label, error, fruitless, best > 0)
      const delayMs = delayOf(fruitless, error, limits, random)
      log.warn({ file: label, reason: error.message, again_in_ms: Math.round(delayMs) }, 'model files: interrupted')
      await sleep(clock, delayMs, signal)
    }
  }
}

/** Between half and all of a doubling delay, so that many nodes do not retry in step. */
function delayOf(fruitless: number, error: Interruption, limits: RetryLimits, random: () => number): number {
  const backoffMs =
    Math.min(limits.mostDelayMs, limits.firstDelayMs * 2 ** Math.max(0, fruitless - 1)) * (0.5 + random() / 2)
  return Math.max(backoffMs, Math.min(error.retryAfterMs, MOST_RETRY_AFTER_MS))
}

function givenUp(label: string, last: Interruption, tries: number, hasSome: boolean): AppError {
  const hint = hasSome ? ' What has arrived is kept: the next start goes on from there.' : ''
  const count = tries === 1 ? '1 try' : `${tries} tries in a row`
  return new AppError('unavailable', `Cannot fetch ${label}: ${last.message} (${count}).${hint}`)
}

/** Makes a connection failure an Interruption, unless a retry cannot help. */
export function connectionFailure(label: string, error: unknown): Error {
  if (error instanceof AppError || error instanceof Interruption) return error
  const { code = '' } = error as NodeJS.ErrnoException
  // If several addresses were tried, Node's error has no message of its own.
  const reason = messageOf(error) || code || 'the connection failed'
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|^ERR_TLS|^EPROTO$/.test(code)) {
    const hint = 'Check the address, or make the certificate known with NODE_EXTRA_CA_CERTS.'
    return new AppError('bad_gateway', `Cannot fetch ${label}: the connection is not trusted (${reason}). ${hint}`)
  }
  return new Interruption(reason)
}
