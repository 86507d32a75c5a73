import { randomUUID } from 'node:crypto'
import type { RoutedKeyMessage } from '../../api/bus/messages.ts'
import { endingState } from '../../core/lifecycle/states.ts'
import { checkPlan } from '../../core/reconcile/check-plan.ts'
import type { Plan, Step } from '../../core/reconcile/plan.ts'
import { reconcile } from '../../core/reconcile/reconcile.ts'
import type { PlacePolicy } from '../../core/placement/types.ts'
import type { ModelLoad, World } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import { listRoutedKeys } from '../../store/nouns/api-keys.ts'
import type { Database, Sql } from '../../store/sql.ts'
import { appendEvent, newestEventId, newestEventOf, type NewEvent } from '../../store/nouns/events.ts'
import { listAdminKeyHashes } from '../../store/nouns/frontends.ts'
import { checkLease, type HeldLease } from '../../store/nouns/leases.ts'
import { judgeLiveness, type Judged, type LivenessLimits } from '../../core/nodes/liveness.ts'
import { listSilentNodes, setLiveness } from '../../store/nouns/nodes.ts'
import { deleteExpiredDemands } from '../../store/nouns/demands.ts'
import { deleteReplica, moveReplica } from '../../store/nouns/replicas.ts'
import { reserveReplica } from '../../store/nouns/reservations.ts'
import { refreshWorld, type Touched } from '../../store/world/refresh-world.ts'
import type { StoredWorld } from '../../store/world/world.ts'
import { recordBreakers, type Ticks } from './breakers.ts'
import { nextWorld, type KeptWorld } from './world-cache.ts'
import { replicaEvicted, replicaLost, replicaPlaced } from './replica-events.ts'

export interface TurnOutcome {
  /** The world after the plan was applied. */
  world: StoredWorld
  /** The API keys that work, of the same moment. */
  keys: RoutedKeyMessage[]
  /** Of all frontends. */
  adminKeyHashes: string[]
  plan: Plan
  silent: { id: string; name: string; liveness: 'unreachable' | 'offline' }[]
  /** A mass disappearance began or ended in this turn. */
  freeze: 'began' | 'ended' | undefined
  /** Events were appended. */
  told: boolean
  hearing: Hearing
  /** For the next turn. */
  kept: KeptWorld
}

/** Since when this leader has heard heartbeats without a break, and its last turn; by the store's clock. */
export interface Hearing {
  sinceMs: number
  lastTurnMs: number
}

/** A leader without a turn for this long was asleep or cut off from the store, and recorded no heartbeats meanwhile. */
const DEAF_AFTER_MS = 10_000

export interface TurnContext {
  limits: LivenessLimits
  policy: PlacePolicy
  /** Undefined when we have not been listening: newly elected, or the bus was away. Missing heartbeats before then do not count. */
  hearing: Hearing | undefined
  /** Where turns are seldom, so long without one is no break yet. */
  deafAfterMs?: number | undefined
  /** Nodes that are silent but still answer requests: degraded, not gone. */
  answering: readonly string[]
  /** When rules that find no room were last counted. */
  ticks: Ticks
  /** How busy each model has been. */
  loadsOf: (world: StoredWorld) => readonly ModelLoad[]
  /** Whether replacement was frozen after the last turn; undefined to look it up. */
  wasFrozen: boolean | undefined
  /** What the last turn left; undefined to read everything. */
  kept?: KeptWorld | undefined
  /** How often everything is read all the same, where it is not as usual. */
  wholeEveryMs?: number | undefined
  /** What this frontend has written since, or is writing, besides its turns. Undefined when that is not known. */
  ownTouched?: () => Touched | undefined
  decide?: Decide
}

/** The planner, and the check of its plans. */
export interface Decide {
  reconcile: typeof reconcile
  checkPlan: typeof checkPlan
}

const ours: Decide = { reconcile, checkPlan }

/**
 * One turn: load world → decide → commit if nothing moved. All in one serializable transaction, so that "nothing moved"
 * is what the store guarantees, and the lease's epoch keeps a leader of yesterday from committing today.
 */
export function reconcileOnce(db: Database, lease: HeldLease, context: TurnContext): Promise<TurnOutcome> {
  const { decide = ours } = context
  return db.transaction(async (tx) => {
    await checkLease(tx, lease)
    const hearing = await stillHearing(tx, context.hearing, context.deafAfterMs)
    const silent = await noteSilence(tx, context, hearing.sinceMs)
    const own = withNodes(context.ownTouched?.(), silent)
    const now = await nextWorld(tx, context.kept, own, hearing.lastTurnMs, context.wholeEveryMs)
    const world = { ...now.world, loads: context.loadsOf(now.world), heardSinceMs: hearing.sinceMs }
    const plan = decide.reconcile(world, context.policy, now.memory)
    const problems = decide.checkPlan(world, plan)
    if (problems.length > 0) throw new AppError('internal', `The plan breaks an invariant: ${problems.join('; ')}.`)
    for (const step of plan.steps) await apply(tx, step)
    await deleteExpiredDemands(tx)
    for (const node of silent) await tellSilent(tx, node)
    const breakers = await recordBreakers(tx, world, plan, context.ticks)
    const news = [...newsOf(world, plan), ...breakers.news]
    for (const event of news) await appendEvent(tx, event)
    const freeze = await tellFreeze(tx, plan, context.wasFrozen)
    const told = silent.length + news.length > 0 || freeze !== undefined
    const written = { nodeIds: nodesOf(plan), modelNames: new Set(breakers.modelNames) }
    const isSame = written.nodeIds.size + written.modelNames.size === 0
    const after = isSame ? now.world : await refreshWorld(tx, now.world, written)
    const kept = { ...now, world: after, eventId: await newestEventId(tx) }
    const keys = await listRoutedKeys(tx)
    const adminKeyHashes = await listAdminKeyHashes(tx)
    return { world: after, keys, adminKeyHashes, plan, silent, freeze, told, hearing, kept }
  })
}

function withNodes(own: Touched | undefined, nodes: readonly { id: string }[]): Touched | undefined {
  return own && { ...own, nodeIds: new Set([...own.nodeIds, ...nodes.map(({ id }) => id)]) }
}

function nodesOf({ steps }: Plan): Set<string> {
  return new Set(steps.map((step) => (step.kind === 'reserve' ? step.nodeId : step.replica.nodeId)))
}

async function noteSilence(tx: Sql, { limits, answering }: TurnContext, hearingSinceMs: number): Promise<Judged[]> {
  const { nowMs, nodes } = await listSilentNodes(tx, limits.unreachableAfterMs)
  const judged = judgeLiveness(nodes, limits, { nowMs, hearingSinceMs, answering })
  for (const { id, liveness } of judged) await setLiveness(tx, id, { liveness, sinceMs: nowMs })
  return judged
}

/** Judged inside the transaction: waiting for the transaction may be what kept us from hearing heartbeats. */
async function stillHearing(tx: Sql, before: Hearing | undefined, deafAfterMs = DEAF_AFTER_MS): Promise<Hearing> {
  const [row] = await tx.query<{ now: number }>('select now_ms() as now')
  const { now } = row!
  const isBreak = !before || now - before.lastTurnMs > deafAfterMs
  return { sinceMs: isBreak ? now : before.sinceMs, lastTurnMs: now }
}

async function apply(tx: Sql, step: Step): Promise<void> {
  switch (step.kind) {
    case 'reserve':
      await reserveReplica(tx, { id: randomUUID(), ...step })
      return
    case 'stop':
    case 'evict':
      await moveReplica(tx, step.replica, { to: endingState(step.replica.state) })
      return
    case 'forget':
      await deleteReplica(tx, step.replica)
  }
}

function tellSilent(tx: Sql, { id, name, liveness }: TurnOutcome['silent'][number]): Promise<void> {
  const reason =
    liveness === 'offline' ? `${name} has been silent for too long` : `${name} has missed several heartbeats`
  return appendEvent(tx, { actor: 'control', action: `node.${liveness}`, nodeId: id, reason })
}

/** What was placed where and why, what had to go for it, and what a node took with it. */
function newsOf({ nodes }: World, { steps }: Plan): NewEvent[] {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  return steps.flatMap((step) => {
    const node = byId.get(step.kind === 'reserve' ? step.nodeId : step.replica.nodeId)!
    if (step.kind === 'reserve') return replicaPlaced(step, node)
    if (step.kind === 'evict') return replicaEvicted(step.replica, node.name, step.forModel)
    if (step.kind === 'stop') return []
    return step.why === 'node offline' ? replicaLost(step.replica, node.name, `${node.name} is offline`) : []
  })
}

/** Reported when it begins and when it ends, not in between, also across a change of leader. */
async function tellFreeze(tx: Sql, { frozen }: Plan, known: boolean | undefined): Promise<TurnOutcome['freeze']> {
  const isFrozen = frozen.length > 0
  const last = known ?? (await newestEventOf(tx, ['cluster.frozen', 'cluster.thawed']))
  const wasFrozen = typeof last === 'boolean' ? last : last?.action === 'cluster.frozen'
  if (isFrozen === wasFrozen) return undefined
  const nodes = frozen.map(({ name }) => name)
  const reason = isFrozen
    ? `${nodes.length} nodes went silent together: their replicas are neither given up nor replaced until they are back, or "flotilla nodes accept-loss" says that they will not be`
    : 'the nodes that went silent together are back, or gone for good: replicas are replaced again'
  await appendEvent(tx, {
    actor: 'control',
    action: isFrozen ? 'cluster.frozen' : 'cluster.thawed',
    reason,
    data: isFrozen ? { nodes } : {},
  })
  return isFrozen ? 'began' : 'ended'
}
