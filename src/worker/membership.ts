import type { NodeCredentials, NodeRegistration, Registered } from '../api/admin/schemas.ts'
import { lifeMsOf } from '../bus/user-jwt.ts'
import { sleep, type Clock } from '../platform/clock.ts'
import { messageOf, type AppError } from '../platform/errors.ts'
import type { Logger } from '../platform/log.ts'
import { isLastWord, type Frontends } from './frontends.ts'

export interface MembershipDeps {
  frontends: Pick<Frontends, 'register' | 'credentials'>
  registration: Omit<NodeRegistration, 'signed_at'>
  /** The connection to the bus. */
  link: Link
  clock: Clock
  /** From 0 to 1: many nodes that lose one bus must not ask in step. */
  random: () => number
  log: Logger
  onRegistered: (nodeId: string) => void
  /** Credentials to work with from now on; the first time, and whenever they may have changed. */
  onCredentials: (nodeId: string, credentials: NodeCredentials) => void
}

export interface Link {
  /** Connects, or takes over what is new in the credentials. Rejects when the bus cannot be had. */
  use(nodeId: string, credentials: NodeCredentials): Promise<void>
  isConnected(): boolean
  isRefused(): boolean
}

/** Why a node is no part of the cluster (any more). */
export interface Departure {
  why: 'refused' | 'removed'
  message: string
}

const PENDING_POLL_MS = 2000
const CHECK_MS = 1000
/** A bus that is away for longer may be somewhere else by now. */
const AWAY_PATIENCE_MS = 5000
const AWAY_PATIENCE_MOST_MS = 30_000
/** Asked now and then even when all is well, so that a lost word about our removal costs time and nothing else. */
const REFRESH_MS = 5 * 60_000
const RENEW_AT = 0.75
const RETRY_FIRST_MS = 500
const RETRY_MOST_MS = 15_000

/**
 * Joins the cluster and stays in it, for as long as the cluster wants us and `signal` is not aborted.
 *
 *   registering ──▶ pending ──▶ connecting ──▶ member ─┐   the last three ask for credentials again: while pending,
 *        │             │            ▲            │     │   when the bus is away or refuses us, before a JWT ends
 *        │             │            └────────────┼─────┘
 *        └─▶ refused   └───────▶ removed ◀───────┘
 */
export async function takePart(deps: MembershipDeps, signal: AbortSignal): Promise<Departure | undefined> {
  const { frontends, registration, log, onRegistered } = deps
  const first = await persist(deps, signal, 'register', () => frontends.register(registration), refusedFor)
  if (!first || 'why' in first) return first
  const { node_id: nodeId, name } = first
  onRegistered(nodeId)
  let told: 'nothing' | 'pending' | 'approved' = 'nothing'
  let answer: Registered = first
  const contact: Contact = { asks: 0, problem: undefined, isBack: false }
  while (!signal.aborted) {
    if (answer.credentials) {
      if (told === 'pending') log.info({ node: name, id: nodeId }, 'approved')
      told = 'approved'
      await beMember(deps, signal, answer, answer.credentials, contact)
    } else {
      if (told !== 'pending')
        log.info({ node: name, id: nodeId }, `waiting for approval: flotilla nodes approve ${quoted(name)}`)
      told = 'pending'
      await sleep(deps.clock, jittered(deps, PENDING_POLL_MS), signal)
    }
    const next = await persist(deps, signal, 'get credentials', () => frontends.credentials(nodeId), removedFor)
    if (!next || 'why' in next) return next
    answer = contact.isBack ? await presentAgain(deps, next) : next
    contact.isBack = false
  }
  return undefined
}

/**
 * A machine whose connection broke may have come back under another address, and gateways must know it. Asked for
 * credentials first: who was removed is to stop, not to apply anew.
 */
async function presentAgain({ frontends, registration, log }: MembershipDeps, known: Registered): Promise<Registered> {
  try {
    return await frontends.register(registration)
  } catch (error) {
    log.warn({ error: messageOf(error) }, 'cannot tell the cluster our address again')
    return known
  }
}

/** How it has gone with the bus since we were last connected. */
interface Contact {
  /** Times we have asked for other credentials. */
  asks: number
  problem: string | undefined
  /** It was away and is back. */
  isBack: boolean
}

/** Works with these credentials until it is time to ask for others. */
async function beMember(
  deps: MembershipDeps,
  signal: AbortSignal,
  { node_id: nodeId }: Registered,
  credentials: NodeCredentials,
  contact: Contact,
): Promise<void> {
  const { link, clock, log } = deps
  deps.onCredentials(nodeId, credentials)
  try {
    await link.use(nodeId, credentials)
  } catch (error) {
    const problem = messageOf(error)
    if (problem !== contact.problem) log.warn({ error: problem }, 'the bus cannot be had; trying again')
    contact.problem = problem
    return sleep(clock, backoff(deps, contact.asks++), signal)
  }
  const lifeMs = credentials.bus_jwt === null ? undefined : lifeMsOf(credentials.bus_jwt)
  const renewMs = clock.nowMs() + jittered(deps, Math.min(REFRESH_MS, (lifeMs ?? Infinity) * RENEW_AT))
  let awayMs: number | undefined
  while (!signal.aborted && clock.nowMs() < renewMs) {
    await sleep(clock, CHECK_MS, signal)
    if (link.isConnected()) {
      contact.asks = 0
      contact.problem = undefined
      if (awayMs === undefined) continue
      // While we were away we may have been removed, or something else may have changed.
      contact.isBack = true
      return sleep(clock, deps.random() * PENDING_POLL_MS, signal)
    }
    awayMs ??= clock.nowMs() - CHECK_MS
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

/** Asks until there is an answer. One line when the frontends fall silent or say something new, one when they are back. */
async function persist(
  deps: MembershipDeps,
  signal: AbortSignal,
  what: string,
  ask: () => Promise<Registered>,
  judge: (error: AppError) => Departure | undefined,
): Promise<Registered | Departure | undefined> {
  let told: string | undefined
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      const answer = await ask()
      if (told !== undefined) deps.log.info('a frontend answers again')
      return answer
    } catch (error) {
      const departure = isLastWord(error) ? judge(error) : undefined
      if (departure) return departure
      const message = messageOf(error)
      if (message !== told) deps.log.warn({ error: message }, `cannot ${what} now; trying again`)
      told = message
      await sleep(deps.clock, backoff(deps, tries), signal)
    }
  }
  return undefined
}

function refusedFor(error: AppError): Departure {
  return { why: 'refused', message: `The cluster does not take this node: ${error.message}` }
}

/** Anything else that is wrong with our asking (a clock that is off, say) is no reason to stop what runs. */
function removedFor(error: AppError): Departure | undefined {
  if (error.code !== 'not_found' && error.code !== 'forbidden') return undefined
  return { why: 'removed', message: error.message }
}

function backoff(deps: MembershipDeps, tries: number): number {
  return jittered(deps, Math.min(RETRY_MOST_MS, RETRY_FIRST_MS * 2 ** Math.min(tries, 20)))
}

/** From three quarters of it to all of it. */
function jittered({ random }: MembershipDeps, delayMs: number): number {
  return delayMs * (0.75 + random() / 4)
}

/** As a shell takes it. */
function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", String.raw`'\''`)}'`
}
