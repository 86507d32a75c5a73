import type { NodeCredentials, Registered } from '../api/admin/schemas.ts'
import { backoff, holdConnection, jittered, newContact, type Contact } from '../bus/hold-connection.ts'
import { isLastWord } from '../platform/any-frontend.ts'
import { sleep, type Clock } from '../platform/clock.ts'
import { messageOf, type AppError } from '../platform/errors.ts'
import type { Logger } from '../platform/log.ts'
import type { Facts, Frontends } from './frontends.ts'

export interface MembershipDeps {
  frontends: Pick<Frontends, 'register' | 'credentials'>
  registration: Facts
  /** The connection to the bus. */
  link: Link
  clock: Clock
  /** From 0 to 1: many nodes that lose one bus must not ask in step. */
  random: () => number
  log: Logger
  onRegistered: (nodeId: string) => void
  /** Credentials to work with from now on; the first time, and whenever they may have changed. */
  onCredentials: (nodeId: string, credentials: NodeCredentials) => void
  checkMs?: number | undefined
  refreshMs?: number | undefined
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
  const contact = newContact()
  while (!signal.aborted) {
    if (answer.credentials) {
      if (told === 'pending') log.info({ node: name, id: nodeId }, 'approved')
      told = 'approved'
      await beMember(deps, signal, nodeId, answer.credentials, contact)
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

/** Works with these credentials until it is time to ask for others. */
function beMember(
  deps: MembershipDeps,
  signal: AbortSignal,
  nodeId: string,
  credentials: NodeCredentials,
  contact: Contact,
): Promise<void> {
  deps.onCredentials(nodeId, credentials)
  const use = (): Promise<void> => deps.link.use(nodeId, credentials)
  return holdConnection({ ...deps, use, jwt: credentials.bus_jwt }, contact, signal)
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

/** As a shell takes it. */
function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", String.raw`'\''`)}'`
}
