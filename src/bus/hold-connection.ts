import { sleep, type Clock } from '../platform/run/clock.ts'
import { messageOf } from '../platform/errors.ts'
import type { Logger } from '../platform/run/log.ts'
import { lifeMsOf } from './user-jwt.ts'

export interface HoldDeps {
  /** The connection to the bus. */
  link: { isConnected(): boolean; isRefused(): boolean }
  /** Connects with the credentials there are, or takes over what is new in them. Rejects when the bus cannot be had. */
  use: () => Promise<void>
  /** What was shown besides the key, if anything; it ends some day. */
  jwt: string | null
  clock: Clock
  /** From 0 to 1: many that lose one bus must not ask in step. */
  random: () => number
  log: Logger
  /** Something other than the connection is a reason to ask for other credentials now. */
  isDue?: (() => boolean) | undefined
  /** How often the connection is looked at. */
  checkMs?: number | undefined
  /** How often credentials are asked for although all is well, where it is not as usual. */
  refreshMs?: number | undefined
}

/** How it has gone with the bus since we were last connected. */
export interface Contact {
  /** Times we have asked for other credentials. */
  asks: number
  problem: string | undefined
  /** It was away and is back. */
  isBack: boolean
}

const CHECK_MS = 1000
/** A bus that is away for longer may be somewhere else by now. */
const AWAY_PATIENCE_MS = 5000
const AWAY_PATIENCE_MOST_MS = 30_000
/** A client that has just reconnected asks within this time. */
const BACK_WITHIN_MS = 2000
/** Asked now and then even when all is well, so that a lost message about our removal only costs time. */
const REFRESH_MS = 5 * 60_000
const RENEW_AT = 0.75
const RETRY_FIRST_MS = 500
const RETRY_MOST_MS = 15_000

export function newContact(): Contact {
  return { asks: 0, problem: undefined, isBack: false }
}

/** Works with its credentials until it has to ask for others: the bus refuses them or is away, or they expire. */
export async function holdConnection(deps: HoldDeps, contact: Contact, signal: AbortSignal): Promise<void> {
  const { link, clock, log, checkMs = CHECK_MS, refreshMs = REFRESH_MS } = deps
  try {
    await deps.use()
  } catch (error) {
    const problem = messageOf(error)
    if (problem !== contact.problem) log.warn({ error: problem }, 'cannot connect to the bus; trying again')
    contact.problem = problem
    return sleep(clock, backoff(deps, contact.asks++), signal)
  }
  const lifeMs = deps.jwt === null ? undefined : lifeMsOf(deps.jwt)
  const renewMs = clock.nowMs() + jittered(deps, Math.min(refreshMs, (lifeMs ?? Infinity) * RENEW_AT))
  let awayMs: number | undefined
  while (!signal.aborted && clock.nowMs() < renewMs) {
    await sleep(clock, checkMs, signal)
    if (deps.isDue?.()) return
    if (link.isConnected()) {
      contact.asks = 0
      contact.problem = undefined
      if (awayMs === undefined) continue
      // The node may have been removed while the bus was away, or other credentials may have changed.
      contact.isBack = true
      return sleep(clock, deps.random() * BACK_WITHIN_MS, signal)
    }
    awayMs ??= clock.nowMs() - checkMs
    if (clock.nowMs() - awayMs < patience(link.isRefused(), contact.asks)) continue
    contact.asks += 1
    return
  }
}

/** How long the bus may be away before we ask where it is. Longer each time, for it may be down for hours. */
function patience(refused: boolean, asks: number): number {
  if (refused && asks === 0) return 0
  return Math.min(AWAY_PATIENCE_MOST_MS, AWAY_PATIENCE_MS * 2 ** Math.min(asks, 10))
}

/** How long to wait after so many tries that failed. */
export function backoff(deps: Pick<HoldDeps, 'random'>, tries: number): number {
  return jittered(deps, Math.min(RETRY_MOST_MS, RETRY_FIRST_MS * 2 ** Math.min(tries, 20)))
}

/** From three quarters of it to all of it. */
export function jittered({ random }: Pick<HoldDeps, 'random'>, delayMs: number): number {
  return delayMs * (0.75 + random() / 4)
}
