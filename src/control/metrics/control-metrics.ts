import type { Step } from '../../core/reconcile/plan.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { startLoop, type Loop, type LoopOptions } from '../../platform/run/loop.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { SHORT_BOUNDS, timed } from '../../platform/metrics/call-times.ts'

export type ControlCounts = ReturnType<typeof controlMetrics>

/** The counters of control. Gauges of the cluster are read at each scrape: `clusterGauges`. */
export function controlMetrics(metrics: Metrics) {
  const placements = metrics.counter('flotilla_placements_total', 'Replicas that were placed.', ['model'])
  const evictions = metrics.counter('flotilla_evictions_total', 'Replicas that made room for another model.', [
    'model',
    'for_model',
  ])
  const stops = metrics.counter('flotilla_stops_total', 'Replicas that were stopped or given up, by reason.', [
    'reason',
  ])
  const moves = metrics.counter('flotilla_replica_moves_total', 'States of replicas, as reported by workers.', [
    'state',
  ])
  const heartbeats = metrics.counter('flotilla_heartbeats_total', 'Heartbeats written to the store.')
  const heartbeatSeconds = metrics.histogram(
    'flotilla_heartbeat_write_seconds',
    'Time to write a batch of heartbeats.',
    ['outcome'],
    SHORT_BOUNDS,
  )
  const beats = heartbeats.cell()
  return {
    step(step: Step): void {
      if (step.kind === 'reserve') placements.cell(step.modelName).value += 1
      else if (step.kind === 'evict') evictions.cell(step.replica.modelName, step.forModel).value += 1
      else stops.cell(step.why.replaceAll(' ', '_')).value += 1
    },
    moved: (state: string) => void (moves.cell(state).value += 1),
    gone: (isLost: boolean) => void (moves.cell(isLost ? 'lost' : 'gone').value += 1),
    async taking<T>(count: number, take: () => Promise<T>): Promise<T> {
      const taken = await timed((isOk) => heartbeatSeconds.cell(isOk ? 'ok' : 'failed'), take)
      beats.value += count
      return taken
    },
    /** The loop of turns, with how long they take and how late they are. */
    loop: (options: LoopOptions) => measuredLoop(metrics, options),
  }
}

function measuredLoop(metrics: Metrics, options: LoopOptions): Loop {
  const { clock, turn } = options
  const duration = metrics.histogram(
    'flotilla_turn_duration_seconds',
    'Duration of the turns of control, by outcome.',
    ['outcome'],
    SHORT_BOUNDS,
  )
  const lag = metrics.histogram(
    'flotilla_turn_lag_seconds',
    'Time from the request for a turn to its end.',
    [],
    SHORT_BOUNDS,
  )
  const lagCell = lag.cell()
  let wokenMs: number | undefined
  let endedMs: number | undefined
  metrics.gauge('flotilla_turn_age_seconds', 'Seconds since the last successful turn.', [], () => ageOf(clock, endedMs))
  const loop = startLoop({
    ...options,
    async turn() {
      const sinceMs = wokenMs
      wokenMs = undefined
      await timed((isOk) => duration.cell(isOk ? 'ok' : 'failed'), turn)
      endedMs = clock.nowMs()
      if (sinceMs !== undefined) lagCell.observe(Math.max(0, endedMs - sinceMs) / 1000)
    },
  })
  return {
    wake() {
      wokenMs ??= clock.nowMs()
      loop.wake()
    },
    dispose: () => loop.dispose(),
  }
}

function ageOf(clock: Clock, ms: number | undefined): { labels: []; value: number }[] {
  return ms === undefined ? [] : [{ labels: [], value: (clock.nowMs() - ms) / 1000 }]
}
