import type { NodeCredentials, Registered } from '../../api/admin/schemas.ts'
import { backoff, holdConnection, jittered, newContact, type Contact } from '../../bus/hold-connection.ts'
import { isLastWord } from '../../http/client/any-frontend.ts'
import { sleep, type Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
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
  /** The first time, and whenever the cluster knows us by another id from now on. */
  onRegistered: (nodeId: string) => void
  /** The cluster has lost its row of us. */
  onUnknown?: (() => void) | undefined
  /** What a frontend says that a person has to put right; undefined when it is over. */
  onProblem?: ((problem: string | undefined) => void) | undefined
  /** Another process with our key is connected: this one is to run nothing until it is taken in. */
  onSecond?: (() => void) | undefined
  /** Control has said that it does not know us: ask now. Takes the news. */
  isDue?: (() => boolean) | undefined
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
/** What stands in the way for a long time is told again so often. */
const TOLD_EVERY_MS = 60_000

/**
 * Joins the cluster and stays in it, for as long as the cluster wants us and `signal` is not aborted.
 *
 *   registering ──▶ pending ──▶ connecting ──▶ member ─┐   the last three ask for credentials again: while pending,
 *     │   ▲            │            ▲            │     │   when the bus is away or refuses us, before a JWT ends
 *     │   │            │            └────────────┼─────┘
 *     │   └─ unknown ◀─┼─────────────────────────┤         what runs goes on, for as long as it takes
 *     └─▶ refused      └───────▶ removed ◀───────┘
 *
 * Only the word of our own cluster that we were removed ends what runs. A frontend that does not know us has lost
 * something, or is of another cluster.
 */
export async function takePart(deps: MembershipDeps, signal: AbortSignal): Promise<Departure | undefined> {
  const { frontends, registration, log } = deps
  const register = () => frontends.register(registration)
  const first = await persist(deps, signal, 'register', register, refusedFor)
  if (!first || 'why' in first) return first
  let told: 'nothing' | 'pending' | 'approved' = 'nothing'
  let answer: Registered = first
  deps.onRegistered(answer.node_id)
  const contact = newContact()
  while (!signal.aborted) {
    const { node_id: nodeId, name } = answer
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
    let isUnknown = false
    const ask = async (): Promise<Registered> => {
      try {
        return await (isUnknown ? register() : frontends.credentials(nodeId))
      } catch (error) {
        if (isUnknown || !(isOfUnknown(error) || isOfOtherRun(error))) throw error
        isUnknown = true
        log.warn({ node: name, id: nodeId }, isOfUnknown(error) ? UNKNOWN : OTHER_RUN)
        if (isOfUnknown(error)) deps.onUnknown?.()
        return register()
      }
    }
    const next = await persist(deps, signal, 'get credentials', ask, removedFor)
    if (!next || 'why' in next) return next
    if (next.node_id !== nodeId) {
      told = 'nothing'
      deps.onRegistered(next.node_id)
    }
    answer = contact.isBack && !isUnknown ? await presentAgain(deps, next) : next
    contact.isBack = false
  }
  return undefined
}

const UNKNOWN = 'the cluster does not know this node, and did not remove it: registering again; its replicas go on'

const OTHER_RUN = 'another process has registered with the key of this node: registering again'

/** Another run of this node has registered since. Whether it is still there is found out by registering again. */
function isOfOtherRun(error: unknown): boolean {
  return error instanceof AppError && error.code === 'conflict' && error.details['run'] === 'other'
}

/** The first of two processes with one key is kept, and we are the second. */
function isSecond(error: unknown): boolean {
  return error instanceof AppError && error.code === 'conflict' && error.details['run'] === 'second'
}

/** A store that is older than our registration has no row of us. The release before says `not_found`. */
function isOfUnknown(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'node_unknown' || error.code === 'not_found')
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

/** Asks until there is an answer. One line when it fails or fails otherwise, one when it is over. */
async function persist(
  deps: MembershipDeps,
  signal: AbortSignal,
  what: string,
  ask: () => Promise<Registered>,
  judge: (error: AppError) => Departure | undefined,
): Promise<Registered | Departure | undefined> {
  let told: string | undefined
  let toldMs = 0
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      const answer = await ask()
      if (told !== undefined) deps.log.info('a frontend answers again')
      deps.onProblem?.(undefined)
      return answer
    } catch (error) {
      if (isSecond(error)) deps.onSecond?.()
      const departure = isLastWord(error) ? judge(error) : undefined
      if (departure) return departure
      const message = messageOf(error)
      // A frontend that is away is told of once; an answer that a person has to put right, once a minute.
      const isDue = isLastWord(error) && deps.clock.nowMs() - toldMs >= TOLD_EVERY_MS
      if (message !== told || isDue) {
        deps.log.warn({ error: message }, `cannot ${what} now; trying again`)
        toldMs = deps.clock.nowMs()
      }
      told = message
      deps.onProblem?.(isLastWord(error) ? message : undefined)
      await sleep(deps.clock, backoff(deps, tries), signal)
    }
  }
  return undefined
}

function refusedFor(error: AppError): Departure | undefined {
  // A frontend that was started empty at the old address: this machine waits until its own cluster is back.
  if (error.code === 'other_cluster') return undefined
  // The other may go away: it keeps trying.
  if (isSecond(error)) return undefined
  return { why: 'refused', message: `The cluster does not take this node: ${error.message}` }
}

/** One word ends what runs. Anything else that is wrong with our asking (a clock that is off, say) does not. */
function removedFor(error: AppError): Departure | undefined {
  if (error.code !== 'forbidden' || error.details['node'] !== 'removed') return undefined
  return { why: 'removed', message: error.message }
}

/** As a shell takes it. */
function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", String.raw`'\''`)}'`
}
