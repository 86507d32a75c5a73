import { Metrics } from '../platform/metrics/metrics.ts'
import { RepeatedLines } from '../platform/run/repeated-lines.ts'
import type { Control, ControlDeps } from './control-deps.ts'
import { startModelFacts } from './facts/model-facts.ts'
import { OtherRuns } from './joining/other-runs.ts'
import { UnknownNodes } from './joining/unknown-nodes.ts'
import { answerGateways } from './leader/answer-gateways.ts'
import { HeartbeatIntake } from './leader/heartbeat-intake.ts'
import { Leadership } from './leader/leadership.ts'
import { saveFoundFacts } from './leader/save-found-facts.ts'
import { Turns } from './leader/turns.ts'
import { clusterGauges } from './metrics/cluster-gauges.ts'
import { controlMetrics } from './metrics/control-metrics.ts'
import { LoadTracker } from './routing/load-tracker.ts'
import { RoutingFeed } from './routing/routing-feed.ts'
import { controlEvents } from './turn/narrate.ts'
import { OwnWrites } from './turn/own-changes.ts'
import { PACE } from './turn/pace.ts'
import { Conditions } from './watch/conditions.ts'
import { StoreWatch } from './watch/store-watch.ts'
import { Commands } from './workers/commands.ts'

/** Leads, or waits to lead. Only the leader writes decisions, tells workers and feeds gateways. */
export function startControl(deps: ControlDeps): Control {
  const { db, bus, clock, log, known, metrics = new Metrics(), conditions = new Conditions(log), parts = {} } = deps
  const { pace = PACE, placement: policy, address = deps.owner } = deps
  const wake = (): void => loop.wake()
  const onEvent = (): void => deps.events.wake()
  const onChange = (): void => {
    wake()
    onEvent()
  }
  const counts = controlMetrics(metrics)
  const events = controlEvents(log, counts)
  const lines = new RepeatedLines(clock)
  const store = new StoreWatch(conditions, clock)
  const own = new OwnWrites()
  const loads = new LoadTracker()
  const commands = new Commands({ db, bus, log, own, onChange })
  const leadership = new Leadership({
    ...deps,
    events,
    conditions,
    address,
    clusterId: known?.clusterId,
    leaseTtlMs: pace.leaseTtlMs,
    newFeed: feedMaker(deps),
    onSuccession: wake,
  })
  const facts = startModelFacts({
    ...deps,
    random: Math.random,
    save: (found) => saveFoundFacts(db, own, leadership.now?.lease, found),
    onChange: wake,
  })
  const shared = { ...deps, ...pace, lines, events, counts, leadership, own, loads, commands, policy, wake, onEvent }
  const { decide, probe } = parts
  const turns = new Turns({ ...shared, store, facts, known, decide, probe })
  const onError = (error: unknown): void => turns.failed(error)
  const loop = counts.loop({ periodMs: pace.turnPeriodMs, turn: () => turns.take(), clock, onError })
  const heartbeats = new HeartbeatIntake({ ...shared, unknown: new UnknownNodes(deps), otherRuns: new OtherRuns(deps) })
  // What is kept of the store, and told of it, is of a time that it has not reached yet.
  known?.onBack(() => leadership.lose())
  bus.subscribe('heartbeat', (heartbeat, nodeId) => heartbeats.add(heartbeat, nodeId))
  bus.subscribe('wake', wake)
  bus.subscribe('leader', (word) => leadership.hear(word))
  answerGateways(shared)
  clusterGauges(metrics, {
    epoch: () => leadership.now?.lease.epoch,
    after: () => leadership.now?.after,
    heardMsAgo: (nodeId) => leadership.heardMsAgo(nodeId),
  })
  bus.onReconnect(() => {
    leadership.forgetHearing()
    wake()
  })
  return {
    wake() {
      wake()
      bus.publish('wake', {})
    },
    isLeading: () => leadership.now !== undefined,
    problem: () => turns.problem,
    frozen: () => turns.frozen(),
    async dispose() {
      await loop.dispose()
      await heartbeats.dispose()
      await facts.dispose()
      turns.dispose()
      await leadership.dispose()
    },
  }
}

function feedMaker({ clusterSecret, clusterId, liveness, parts }: ControlDeps): () => RoutingFeed {
  const make = parts?.newFeed ?? ((...made: ConstructorParameters<typeof RoutingFeed>) => new RoutingFeed(...made))
  return () => make(clusterSecret, liveness.unreachableAfterMs, clusterId)
}
