import type { Bus } from '../bus/bus.ts'
import type { World } from '../core/types.ts'
import type { Clock } from '../platform/clock.ts'
import { messageOf } from '../platform/errors.ts'
import type { Logger } from '../platform/log.ts'
import { startLoop } from '../platform/loop.ts'
import type { Database } from '../store/database.ts'
import { pruneEvents } from '../store/events.ts'
import { acquireLease, checkLease, LeaseLostError, releaseLease, type HeldLease } from '../store/leases.ts'
import type { LivenessLimits } from '../store/nodes.ts'
import { adminKeyMessage } from './admin-key.ts'
import { Commands } from './commands.ts'
import type { EventFeed } from './event-feed.ts'
import { controlEvents } from './events.ts'
import { HeartbeatQueue } from './heartbeat-queue.ts'
import { takeHeartbeats, type HeartbeatFrom } from './heartbeats.ts'
import { findAnswering } from './probe-nodes.ts'
import { RoutingFeed } from './routing-feed.ts'
import { reconcileOnce, type Hearing } from './turn.ts'
import { UnmetRules } from './unmet-rules.ts'

export interface ControlDeps {
  db: Database
  bus: Bus
  clock: Clock
  log: Logger
  /** Who we are in the election: stable for one data folder, so that a restart resumes its own lease at once. */
  owner: string
  clusterSecret: string
  /** Of this frontend; gateways on their own take it as well, while it leads. */
  adminKey: string
  liveness: LivenessLimits
  /** To be woken when a turn or a heartbeat has appended an event. */
  events: Pick<EventFeed, 'wake'>
}

export interface Control {
  /** The store has changed: take a turn soon. */
  wake(): void
  isLeading(): boolean
  /** The last turn's failure, if it failed. */
  problem(): string | undefined
  /** Names of the nodes of a mass disappearance, whose replicas are left alone until it is over. Known to the leader. */
  frozen(): string[]
  dispose(): Promise<void>
}

/** A turn renews the lease; three may fail before another frontend may lead. */
const TURN_PERIOD_MS = 3000
const LEASE_TTL_MS = 10_000
/** Events are for people: what nobody looked up within a month is not looked up. */
const EVENTS_KEPT = { most: 10_000, maxAgeMs: 30 * 86_400_000 }
const PRUNE_PERIOD_MS = 5 * 60_000

interface Leading {
  lease: HeldLease
  feed: RoutingFeed
  hearing: Hearing | undefined
  /** The nodes of a mass disappearance after the last turn; undefined before the first. */
  frozen: string[] | undefined
}

/** Leads, or waits to lead. Only the leader writes decisions, tells workers and feeds gateways. */
export function startControl({
  db,
  bus,
  clock,
  log,
  owner,
  clusterSecret,
  adminKey,
  liveness,
  events: feed,
}: ControlDeps): Control {
  const events = controlEvents(log)
  const onChange = (): void => {
    loop.wake()
    feed.wake()
  }
  const commands = new Commands({ db, bus, log, onChange })
  const unmetRules = new UnmetRules(clock, events)
  let leading: Leading | undefined
  let leaderSeen: string | undefined
  let problem: string | undefined
  let pruneAtMs = 0
  let cancelRetry = (): void => {}

  const lead = async (): Promise<Leading | undefined> => {
    const answer = await acquireLease(db, { name: 'leader', owner, ttlMs: LEASE_TTL_MS })
    if (!('epoch' in answer)) {
      if (leaderSeen !== answer.heldBy) events.following(answer.heldBy)
      leaderSeen = answer.heldBy
      return undefined
    }
    if (leading?.lease.epoch === answer.epoch) return leading
    events.leading(answer.epoch)
    const lease = { name: 'leader', owner, epoch: answer.epoch }
    return { lease, feed: new RoutingFeed(clusterSecret), hearing: undefined, frozen: undefined }
  }

  const turn = async (): Promise<void> => {
    leading = await lead()
    if (!leading) return
    const now = leading
    const { lease } = now
    const hearing = bus.isConnected() ? now.hearing : undefined
    const wasFrozen = now.frozen && now.frozen.length > 0
    const answering = await findAnswering(db, liveness, clusterSecret)
    const outcome = await reconcileOnce(db, lease, { limits: liveness, hearing, answering, wasFrozen })
    const { world, keys, plan, silent, freeze, told } = outcome
    now.hearing = bus.isConnected() ? outcome.hearing : undefined
    now.frozen = plan.frozen.map(({ name }) => name)
    for (const node of silent) events.nodeLiveness(node.name, node.liveness)
    for (const step of plan.steps) events.stepApplied(step)
    if (freeze === 'began') events.frozen(now.frozen)
    if (freeze === 'ended') events.thawed()
    if (told) feed.wake()
    unmetRules.tell(plan.unmet)
    commands.send(world, lease)
    bus.publish('routingDelta', now.feed.update(world, [adminKeyMessage(adminKey), ...keys]))
    wakeForRetry(world)
    await prune(lease)
    problem = undefined
  }

  /** A failed slot is tried again when its wait is over, not when the next period happens to come. */
  const wakeForRetry = ({ nowMs, replicas }: World): void => {
    cancelRetry()
    const retries = replicas.flatMap(({ retryAtMs }) => (retryAtMs !== null && retryAtMs > nowMs ? [retryAtMs] : []))
    if (retries.length > 0) cancelRetry = clock.after(Math.min(...retries) - nowMs, () => loop.wake())
  }

  const prune = async (lease: HeldLease): Promise<void> => {
    if (clock.nowMs() < pruneAtMs) return
    pruneAtMs = clock.nowMs() + PRUNE_PERIOD_MS
    await db.transaction(async (tx) => {
      await checkLease(tx, lease)
      await pruneEvents(tx, EVENTS_KEPT)
    })
  }

  const onError = (error: unknown): void => {
    problem = messageOf(error)
    if (error instanceof LeaseLostError) leading = undefined
    log.error({ err: error }, 'control: a turn failed')
  }
  const loop = startLoop({ periodMs: TURN_PERIOD_MS, turn, clock, onError })

  const take = async (batch: HeartbeatFrom[]): Promise<void> => {
    if (!leading) return
    try {
      const outcomes = await takeHeartbeats(db, leading.lease, events, batch)
      for (const { nodeId, strays } of outcomes) for (const stray of strays) commands.stop(nodeId, stray)
      if (outcomes.some(({ changed }) => changed)) loop.wake()
      if (outcomes.some(({ told }) => told)) feed.wake()
    } catch (error) {
      log.warn({ nodes: batch.length, error: messageOf(error) }, 'control: heartbeats were not recorded')
    }
  }
  const heartbeats = new HeartbeatQueue(take)
  bus.subscribe('heartbeat', (heartbeat, nodeId) => {
    if (leading) heartbeats.add({ nodeId, heartbeat })
  })
  bus.subscribe('wake', () => loop.wake())
  bus.respond('routingSnapshot', async ({ part }) => leading?.feed.snapshot(part))
  bus.onReconnect(() => {
    if (leading) leading.hearing = undefined
    loop.wake()
  })

  return {
    wake() {
      loop.wake()
      bus.publish('wake', {})
    },
    isLeading: () => leading !== undefined,
    problem: () => problem,
    frozen: () => leading?.frozen ?? [],
    async dispose() {
      await loop.dispose()
      await heartbeats.dispose()
      cancelRetry()
      if (leading) await releaseLease(db, leading.lease)
      leading = undefined
    },
  }
}
