import { expect, test } from 'vitest'
import type { Plan } from '../../core/reconcile/plan.ts'
import { prometheusText } from '../../platform/metrics/exposition.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { Metrics } from '../../platform/metrics/metrics.ts'
import { aModel, aNode, aReplica, aWorld } from '../../../test/support/builders.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { clusterGauges } from './cluster-gauges.ts'
import { controlMetrics } from './control-metrics.ts'
import { controlEvents } from '../turn/narrate.ts'

const linesOf = (metrics: Metrics): string[] => prometheusText(metrics).split('\n')
const nothing: Plan = { steps: [], frozen: [], waiting: [], unmet: [], untried: [] }

test('a leader shows the cluster as it sees it; one that follows shows nothing of it', () => {
  const world = aWorld({
    nodes: [
      aNode({
        id: 'n1',
        name: 'thor',
        devices: [{ index: 0, name: 'G', totalVram: 100, availableVram: 40, unified: false }],
        totalRam: 1000,
        availableRam: 900,
      }),
      aNode({ id: 'n2', name: 'loki', liveness: 'offline' }),
    ],
    models: [aModel({ name: 'm' })],
    replicas: [
      aReplica({
        id: 'r',
        nodeId: 'n1',
        modelName: 'm',
        state: 'ready',
        claim: { devices: [{ index: 0, bytes: 30 }], ram: 7, disk: 0, source: 'learned', alone: false },
        measured: { devices: [{ index: 0, bytes: 25 }], ram: 6 },
      }),
    ],
  })
  const refusal = { nodeId: 'n2', nodeName: 'loki', filter: 'online', needed: '', available: '', where: null } as const
  const unmet = [{ modelName: 'm', missing: 2, refusals: [refusal], advice: [], isBusy: false }]
  let epoch: number | undefined = 7
  const metrics = new Metrics()
  clusterGauges(metrics, {
    epoch: () => epoch,
    after: () => (epoch === undefined ? undefined : { world, plan: { ...nothing, unmet } }),
    heardMsAgo: (id) => (id === 'n1' ? 1500 : undefined),
  })
  expect(linesOf(metrics)).toEqual(
    expect.arrayContaining([
      'flotilla_leading 1',
      'flotilla_lease_epoch 7',
      'flotilla_nodes{status="healthy"} 1',
      'flotilla_nodes{status="offline"} 1',
      'flotilla_replicas{model="m",state="ready"} 1',
      'flotilla_unplaced_replicas{model="m"} 2',
      'flotilla_placement_refusals{model="m",reason="online"} 1',
      'flotilla_node_heartbeat_age_seconds{node="thor"} 1.5',
      'flotilla_node_memory_bytes{node="thor",device="gpu 0",kind="total"} 100',
      'flotilla_node_memory_bytes{node="thor",device="gpu 0",kind="available"} 40',
      'flotilla_node_memory_bytes{node="thor",device="gpu 0",kind="claimed"} 30',
      'flotilla_node_memory_bytes{node="thor",device="ram",kind="claimed"} 7',
      'flotilla_replica_memory_bytes{model="m",node="thor",replica="r",where="vram",kind="claimed"} 30',
      'flotilla_replica_memory_bytes{model="m",node="thor",replica="r",where="vram",kind="measured"} 25',
      'flotilla_replica_memory_bytes{model="m",node="thor",replica="r",where="ram",kind="measured"} 6',
    ]),
  )
  epoch = undefined
  const samples = linesOf(metrics).filter((line) => line !== '' && !line.startsWith('#'))
  expect(samples).toEqual(['flotilla_leading 0'])
})

test('what control does is counted when it is told', () => {
  const metrics = new Metrics()
  const events = controlEvents(silentLogger, controlMetrics(metrics))
  const replica = aReplica({ modelName: 'old' })
  events.stepApplied({ kind: 'evict', replica, forModel: 'new' })
  events.stepApplied({ kind: 'stop', replica, why: 'old revision' })
  events.stepApplied({ kind: 'forget', replica, why: 'node offline' })
  events.replicaMoved(replica, 'failed', 'why')
  events.replicaGone(replica, true)
  expect(linesOf(metrics)).toEqual(
    expect.arrayContaining([
      'flotilla_evictions_total{model="old",for_model="new"} 1',
      'flotilla_stops_total{reason="old_revision"} 1',
      'flotilla_stops_total{reason="node_offline"} 1',
      'flotilla_replica_moves_total{state="failed"} 1',
      'flotilla_replica_moves_total{state="lost"} 1',
    ]),
  )
})

test('turns are timed, and how long they were waited for', async () => {
  const metrics = new Metrics()
  const clock = new VirtualClock(0)
  let turns = 0
  const turn = async (): Promise<void> => {
    turns += 1
    if (turns === 1) throw new Error('the store is away')
  }
  const loop = controlMetrics(metrics).loop({ periodMs: 1000, clock, turn, onError: () => {} })
  await clock.advance(0)
  loop.wake()
  await clock.advance(100)
  await until(() => linesOf(metrics).includes('flotilla_turn_duration_seconds_count{outcome="ok"} 1'))
  await loop.dispose()
  expect(linesOf(metrics)).toEqual(
    expect.arrayContaining([
      'flotilla_turn_duration_seconds_count{outcome="failed"} 1',
      'flotilla_turn_lag_seconds_count 1',
      'flotilla_turn_lag_seconds_sum 0.1',
      'flotilla_turn_age_seconds 0',
    ]),
  )
})
