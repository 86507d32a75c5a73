import { randomUUID } from 'node:crypto'
import type { LeaderMessage } from '../api/bus/messages.ts'
import type { World } from '../core/types.ts'
import { messageOf } from '../platform/errors.ts'
import { RepeatedLines } from '../platform/run/repeated-lines.ts'
import { Metrics } from '../platform/metrics/metrics.ts'
import type { Sql } from '../store/sql.ts'
import { acquireLease, checkLease, LeaseLostError, releaseLease, type HeldLease } from '../store/nouns/leases.ts'
import { saveFacts, type StoredFacts } from '../store/nouns/model-facts.ts'
import { adminKeyMessages, RecordedAdminKey } from './joining/admin-key.ts'
import { clusterGauges } from './metrics/cluster-gauges.ts'
import { Commands } from './workers/commands.ts'
import { controlMetrics } from './metrics/control-metrics.ts'
import { Conditions } from './watch/conditions.ts'
import { controlEvents } from './turn/narrate.ts'
import { HeartbeatQueue } from './heartbeats/queue.ts'
import { changedNodes, takeHeartbeats, type HeartbeatFrom, type HeartbeatOutcome } from './heartbeats/take.ts'
import type { Ticks } from './turn/breakers.ts'
import { gatewayCertificate } from './joining/cluster-ca.ts'
import { ColdLoads } from './routing/cold-loads.ts'
import type { KeptWorld } from './turn/world-cache.ts'
import { LoadTracker } from './routing/load-tracker.ts'
import { startModelFacts } from './facts/model-facts.ts'
import { OwnWrites } from './turn/own-changes.ts'
import { isBefore, OtherLeaders, twoLeaders } from './watch/other-leaders.ts'
import { OtherRuns } from './joining/other-runs.ts'
import { PACE } from './turn/pace.ts'
import { Pruning } from './turn/pruning.ts'
import { findAnswering } from './workers/probe-nodes.ts'
import { RoutingFeed } from './routing/routing-feed.ts'
import { reconcileOnce, type Hearing, type TurnOutcome } from './turn/turn.ts'
import { UnknownNodes } from './joining/unknown-nodes.ts'
import { StoreWatch } from './watch/store-watch.ts'
import { takeApart } from './heartbeats/take-apart.ts'
import { UnmetRules } from './turn/unmet-rules.ts'
import type { Control, ControlDeps, NewFeed } from './control-deps.ts'

const TWO_LEADERS = 'two leaders'

interface Leading {
  lease: HeldLease
  feed: RoutingFeed
  /** What it says to other leaders, if there are any. */
  word: LeaderMessage
  /** Another leads on this bus that was first: until we are alone this one decides nothing and says nothing else. */
  standsBack: boolean
  hearing: Hearing | undefined
  /** After the last turn; undefined before the first. */
  after: TurnOutcome | undefined
  /** The world for the next turn to go on from; undefined when it has to read everything. */
  kept: KeptWorld | undefined
  ticks: Ticks
  /** Nodes that were not online at the last turn. */
  missed: ReadonlySet<string>
  /** When each node was last heard. */
  heardMs: Map<string, number>
}

/** Leads, or waits to lead. Only the leader writes decisions, tells workers and feeds gateways. */
export function startControl({
  db,
  bus,
  clock,
  log,
  owner,
  clusterSecret,
  clusterId,
  adminKey,
  liveness,
  events: feed,
  conditions = new Conditions(log),
  known,
  placement: policy,
  modelsFolder,
  hub,
  metrics = new Metrics(),
  address = owner,
  pace: { turnPeriodMs, leaseTtlMs, deafAfterMs, wholeEveryMs, quietWaitMs } = PACE,
  parts: { decide, probe, newFeed = (...made: Parameters<NewFeed>) => new RoutingFeed(...made) } = {},
}: ControlDeps): Control {
  const counts = controlMetrics(metrics)
  const events = controlEvents(log, counts)
  const onChange = (): void => {
    loop.wake()
    feed.wake()
  }
  const lines = new RepeatedLines(clock)
  const store = new StoreWatch(conditions, clock)
  const own = new OwnWrites()
  const commands = new Commands({ db, bus, log, own, onChange })
  const ownKey = new RecordedAdminKey({ db, clock, owner, adminKey })
  const others = new OtherLeaders(leaseTtlMs)
  const otherRuns = new OtherRuns({ db, bus, clock, log, clusterId })
  const unknown = new UnknownNodes({ db, bus, clock, log, clusterId })
  const pruning = new Pruning(db, clock)
  const unmetRules = new UnmetRules(clock, events)
  const loads = new LoadTracker()
  let leading: Leading | undefined
  let leaderSeen: string | undefined
  let problem: string | undefined
  let cancelRetry = (): void => {}
  let cancelSuccession = (): void => {}

  const lead = async (): Promise<Leading | undefined> => {
    const answer = await acquireLease(db, { name: 'leader', owner, ttlMs: leaseTtlMs })
    if (!('epoch' in answer)) {
      if (leaderSeen !== answer.heldBy) events.following(answer.heldBy)
      leaderSeen = answer.heldBy
      // A leader that lives renews it before; after one that does not, nobody leads for no longer than its lease lasts.
      cancelSuccession()
      cancelSuccession = clock.after(answer.leftMs, () => loop.wake())
      return undefined
    }
    if (leading?.lease.epoch === answer.epoch) return leading
    events.leading(answer.epoch)
    const lease = { name: 'leader', owner, epoch: answer.epoch, cluster: known?.clusterId }
    const feed = newFeed(clusterSecret, liveness.unreachableAfterMs, clusterId)
    others.forget()
    const [now] = await db.query<{ since: number }>('select now_ms() as since')
    const word = { feed: randomUUID(), owner, since: now!.since, address }
    const nothing = { hearing: undefined, after: undefined, kept: undefined, missed: new Set<string>() }
    return { lease, feed, word, standsBack: false, ...nothing, ticks: new Map(), heardMs: new Map() }
  }

  /** Looked at right after the lease was renewed: a leader that slept through the end of its own is none any more. */
  const lookForOthers = (now: Leading): void => {
    bus.publish('leader', now.word)
    const other = others.beside(clock.nowMs())
    conditions.look(TWO_LEADERS, other && twoLeaders(now.word, other))
    const standsBack = other !== undefined && isBefore(other, now.word)
    // What it knows is of before it stood back; gateways have the table of the other.
    if (standsBack !== now.standsBack) Object.assign(now, { hearing: undefined, kept: undefined, after: undefined })
    now.standsBack = standsBack
  }

  const turn = async (): Promise<void> => {
    if (known && !(await known.look())) {
      leading = undefined
      problem = known.foreign()
      return
    }
    // A follower does it as well, and another leads: it is to look.
    if ((await ownKey.record()) && !leading) bus.publish('wake', {})
    leading = await lead()
    if (!leading) {
      // Who follows has nothing more to do than to find that another leads.
      problem = undefined
      conditions.end(TWO_LEADERS)
      store.turnEnded()
      return
    }
    const now = leading
    lookForOthers(now)
    if (now.standsBack) {
      problem = undefined
      store.turnEnded()
      return
    }
    const { lease } = now
    const hearing = bus.isConnected() ? now.hearing : undefined
    const wasFrozen = now.after && now.after.plan.frozen.length > 0
    const answering = await findAnswering(db, liveness, clusterSecret, probe)
    // Whatever goes wrong from here on, the next turn reads everything.
    const kept = now.kept
    now.kept = undefined
    const mark = own.mark()
    const outcome = await reconcileOnce(db, lease, {
      limits: liveness,
      policy,
      hearing,
      deafAfterMs,
      answering,
      wasFrozen,
      ticks: now.ticks,
      kept,
      wholeEveryMs,
      ownTouched: () => own.touched(),
      loadsOf: ({ replicas }) => loads.sample(replicas, clock.nowMs()),
      ...(decide && { decide }),
    })
    const { world, keys, adminKeyHashes, plan, silent, freeze, told } = outcome
    now.hearing = bus.isConnected() ? outcome.hearing : undefined
    now.after = outcome
    now.kept = outcome.kept
    now.missed = new Set(world.nodes.flatMap(({ id, liveness: one }) => (one === 'online' ? [] : [id])))
    own.forget(mark)
    forgetOthers(now.heardMs, world)
    for (const node of silent) events.nodeLiveness(node.name, node.liveness)
    for (const step of plan.steps) events.stepApplied(step)
    if (freeze === 'began') events.frozen(namesOf(plan.frozen))
    if (freeze === 'ended') events.thawed()
    if (told) feed.wake()
    unmetRules.tell(plan)
    commands.send(world, lease)
    bus.publish('routingDelta', now.feed.update(world, [...adminKeyMessages(adminKey(), adminKeyHashes), ...keys]))
    wakeForRetry(world)
    facts.look(world)
    await pruning.run(lease)
    problem = undefined
    store.turnEnded()
  }

  /** A failed slot is tried again when its wait is over, not when the next period happens to come. */
  const wakeForRetry = ({ nowMs, replicas }: World): void => {
    cancelRetry()
    const soonest = replicas.reduce((least, { retryAtMs }) => {
      return retryAtMs !== null && retryAtMs > nowMs ? Math.min(least, retryAtMs) : least
    }, Number.POSITIVE_INFINITY)
    if (Number.isFinite(soonest)) cancelRetry = clock.after(soonest - nowMs, () => loop.wake())
  }
  /** A heartbeat may tell of the room that something waits for; all of them, that there is time for what was put off. */
  const isRoomFor = (outcomes: readonly HeartbeatOutcome[]): boolean => {
    const plan = leading?.after?.plan
    if (!plan) return false
    if (plan.untried.length > 0) return true
    return plan.waiting.length + plan.unmet.length > 0 && outcomes.some(({ roomier }) => roomier)
  }

  const saveFound = async (facts: StoredFacts): Promise<void> => {
    const lease = leading?.lease
    if (!lease) return
    const write = async (tx: Sql): Promise<void> => {
      await checkLease(tx, lease)
      await saveFacts(tx, facts)
    }
    await own.during({ modelNames: [facts.modelName] }, () => db.transaction(write))
  }

  const onError = (error: unknown): void => {
    problem = messageOf(error)
    if (error instanceof LeaseLostError) leading = undefined
    store.turnFailed(error)
    lines.tell(`turn ${problem}`, (repeated) => log.error({ err: error, ...repeated }, 'control: a turn failed'))
  }
  const facts = startModelFacts({
    save: saveFound,
    bus,
    hub,
    modelsFolder,
    clock,
    log,
    random: Math.random,
    onChange: () => loop.wake(),
  })
  const loop = counts.loop({ periodMs: turnPeriodMs, turn, clock, onError })

  const take = async (batch: HeartbeatFrom[]): Promise<boolean> => {
    if (!leading || leading.standsBack) return false
    const { lease } = leading
    try {
      const nodeIds = batch.map(({ nodeId }) => nodeId)
      const write = (part: readonly HeartbeatFrom[]): Promise<HeartbeatOutcome[]> => {
        const ids = part.map(({ nodeId }) => nodeId)
        const take = () => own.during({ nodeIds: ids }, () => takeHeartbeats(db, lease, events, part), changedNodes)
        return counts.taking(part.length, take)
      }
      const refused = new Set<string>()
      const outcomes = await takeApart(batch, write, ({ nodeId: node }, error) => {
        refused.add(node)
        lines.tell(`heartbeat of ${node}`, (repeated) => {
          log.warn({ node, error: messageOf(error), ...repeated }, 'control: a heartbeat cannot be recorded')
        })
      })
      leading?.feed.hear(outcomes)
      const taken = new Set([...refused, ...outcomes.map(({ nodeId }) => nodeId)])
      await unknown.look(nodeIds.filter((id) => !taken.has(id)))
      await otherRuns.look(batch.filter(({ nodeId }) => !taken.has(nodeId)))
      for (const { nodeId, strays } of outcomes) for (const stray of strays) commands.stop(nodeId, stray)
      if (outcomes.some(({ changed }) => changed) || isRoomFor(outcomes)) loop.wake()
      if (outcomes.some(({ told }) => told)) feed.wake()
      return true
    } catch (error) {
      const fields = { nodes: batch.length, error: messageOf(error) }
      lines.tell(`heartbeats ${fields.error}`, (repeated) => {
        log.warn({ ...fields, ...repeated }, 'control: heartbeats were not recorded')
      })
      return false
    }
  }
  const heartbeats = new HeartbeatQueue({
    take,
    clock,
    isMissed: (nodeId) => leading?.missed.has(nodeId) ?? false,
    quietWaitMs,
  })
  // What is kept of the store, and told of it, is of a time that it has not reached yet.
  known?.onBack(() => (leading = undefined))
  bus.subscribe('heartbeat', (heartbeat, nodeId) => {
    if (!leading || leading.standsBack) return
    leading.heardMs.set(nodeId, clock.nowMs())
    heartbeats.add({ nodeId, heartbeat })
  })
  bus.subscribe('gatewayLoad', (load) => loads.hear(load, clock.nowMs()))
  bus.subscribe('wake', () => loop.wake())
  bus.subscribe('leader', (word) => {
    if (leading && word.feed !== leading.word.feed) others.hear(word, clock.nowMs())
  })
  const cold = new ColdLoads({ db, policy, onChange: () => loop.wake() })
  bus.respond('modelWanted', async (wanted) => {
    const after = leading?.after
    return after && cold.want(wanted, after.world, after.plan)
  })
  bus.respond('dataCertificate', async ({ public_key: key }) => {
    if (!leading || leading.standsBack) return undefined
    return { certificate: gatewayCertificate(clusterSecret, key, clock.nowMs()) }
  })
  bus.respond('routingSnapshot', async ({ part }) => {
    const feed = leading?.feed
    await feed?.filled
    // It may have been a long time, in which another has come to lead.
    return feed === leading?.feed && !leading?.standsBack ? feed?.snapshot(part) : undefined
  })
  clusterGauges(metrics, {
    epoch: () => leading?.lease.epoch,
    after: () => leading?.after,
    heardMsAgo(nodeId) {
      const heardMs = leading?.heardMs.get(nodeId)
      return heardMs === undefined ? undefined : clock.nowMs() - heardMs
    },
  })
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
    frozen: () => namesOf(leading?.after?.plan.frozen ?? []),
    async dispose() {
      await loop.dispose()
      await heartbeats.dispose()
      await facts.dispose()
      cancelRetry()
      cancelSuccession()
      if (leading) await releaseLease(db, leading.lease)
      leading = undefined
    },
  }
}

/** Nodes come and go; of those that are no more nobody asks when they were heard. */
function forgetOthers(heardMs: Map<string, number>, { nodes }: World): void {
  if (heardMs.size <= nodes.length) return
  const ids = new Set(nodes.map(({ id }) => id))
  for (const id of heardMs.keys()) if (!ids.has(id)) heardMs.delete(id)
}

function namesOf(nodes: readonly { name: string }[]): string[] {
  return nodes.map(({ name }) => name)
}
