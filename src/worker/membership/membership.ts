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
  /** From 0 to 1: many nodes that lose one bus must not retry in step. */
  random: () => number
  log: Logger
  /** Called the first time, and whenever the cluster gives this node another id. */
  onRegistered: (nodeId: string) => void
  /** The cluster has lost this node's row. */
  onUnknown?: (() => void) | undefined
  /** A frontend's answer that a person has to act on; undefined when it no longer applies. */
  onProblem?: ((problem: string | undefined) => void) | undefined
  /** Another process with our key is connected: this one must run nothing until it is accepted. */
  onSecond?: (() => void) | undefined
  /** Whether control has said that it does not know this node, so that it should ask now. Resets the flag. */
  isDue?: (() => boolean) | undefined
  /** The current credentials; called the first time, and whenever they may have changed. */
  onCredentials: (nodeId: string, credentials: NodeCredentials) => void
  checkMs?: number | undefined
  refreshMs?: number | undefined
}

export interface Link {
  /** Connects, or applies changed credentials. Rejects when the bus cannot be reached. */
  use(nodeId: string, credentials: NodeCredentials): Promise<void>
  isConnected(): boolean
  isRefused(): boolean
}

/** Why a node is not part of the cluster, or no longer is. */
export interface Departure {
  why: 'refused' | 'removed'
  message: string
}

const PENDING_POLL_MS = 2000
/** How often a lasting problem is logged again. */
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
 * Only our own cluster's statement that the node was removed ends what runs. A frontend that does not know this node
 * has lost data, or belongs to another cluster.
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

/** Another run of this node has registered since. Registering again finds out whether it still exists. */
function isOfOtherRun(error: unknown): boolean {
  return error instanceof AppError && error.code === 'conflict' && error.details['run'] === 'other'
}

/** Of two processes with one key the cluster keeps the first, and we are the second. */
function isSecond(error: unknown): boolean {
  return error instanceof AppError && error.code === 'conflict' && error.details['run'] === 'second'
}

/** A store from before our registration has no row for this node. The release before answers `not_found`. */
function isOfUnknown(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'node_unknown' || error.code === 'not_found')
}

/**
 * Registers again, because a machine whose connection broke may have come back under another address, which gateways
 * must learn. Credentials are asked for first: a removed node must stop, not apply again.
 */
async function presentAgain({ frontends, registration, log }: MembershipDeps, known: Registered): Promise<Registered> {
  try {
    return await frontends.register(registration)
  } catch (error) {
    log.warn({ error: messageOf(error) }, 'cannot tell the cluster our address again')
    return known
  }
}

/** Uses these credentials until it is time to ask for new ones. */
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

/**
 * Repeats the call until there is an answer. Logs one line when it fails, or fails differently, and one when it
 * succeeds again.
 */
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
      // An unreachable frontend is logged once; an answer that a person has to act on, once a minute.
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
  // An empty frontend was started at the old address: this machine waits until its own cluster is back.
  if (error.code === 'other_cluster') return undefined
  // The other process may end, so this one keeps trying.
  if (isSecond(error)) return undefined
  return { why: 'refused', message: `The cluster does not take this node: ${error.message}` }
}

/** Only an explicit removal ends what runs. Other errors of the call (a wrong clock, say) do not. */
function removedFor(error: AppError): Departure | undefined {
  if (error.code !== 'forbidden' || error.details['node'] !== 'removed') return undefined
  return { why: 'removed', message: error.message }
}

/** Quoted for a shell. */
function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", String.raw`'\''`)}'`
}
