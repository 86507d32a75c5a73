import type { ReportedReplicaMessage } from '../../api/bus/messages.ts'
import type { Hardware } from '../../api/hardware.ts'
import type { Cell, Metrics, Sample } from '../../platform/metrics/metrics.ts'
import { AnswerMeter, type ReplicaCells } from './answer-meter.ts'

export interface WorkerFacts {
  /** Why the node is not part of the cluster, if it is not. */
  problem: () => string | undefined
  replicas: () => readonly ReportedReplicaMessage[]
  hardware: () => Hardware | undefined
}

export interface WorkerCounts {
  /** Times and counts one answer of a replica. */
  meter(replicaId: string, modelName: string): AnswerMeter
  /** A replica has completed a phase of its start. */
  phase: (modelName: string, phase: string, seconds: number) => void
}

/** Seconds. */
const FIRST_TOKEN_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const BETWEEN_TOKENS_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.25, 0.5, 1]
const PHASE_BOUNDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800]

/** The worker's metrics. Replicas that are gone are removed once their last figures were read. */
export function workerMetrics(metrics: Metrics, facts: WorkerFacts): WorkerCounts {
  const of = defineAll(metrics)
  const cells = new Map<string, ReplicaCells & { modelName: string; isGone: boolean }>()
  const forgetGone = (): void => {
    const here = new Set(facts.replicas().map(({ id }) => id))
    for (const [id, one] of cells) {
      if (one.isGone && !here.has(id)) {
        for (const outcome of OUTCOMES) of.requests.forget(one.modelName, id, outcome.replace(' ', '_'))
        for (const direction of ['input', 'output']) of.tokens.forget(one.modelName, id, direction)
        cells.delete(id)
      }
      one.isGone = !here.has(id)
    }
  }
  gauges(metrics, facts, forgetGone)
  return {
    meter(id, modelName) {
      let known = cells.get(id)
      if (!known) cells.set(id, (known = { ...cellsFor(of, id, modelName), modelName, isGone: false }))
      return new AnswerMeter(known)
    },
    phase: (modelName, phase, seconds) => of.phases.cell(modelName, phase).observe(seconds),
  }
}

const OUTCOMES = ['answered', 'client gone', 'unreachable', 'refused', 'broken'] as const

function defineAll(metrics: Metrics) {
  return {
    requests: metrics.counter(
      'flotilla_engine_requests_total',
      'Requests to the engine of a replica, by how they ended.',
      ['model', 'replica', 'outcome'],
    ),
    tokens: metrics.counter('flotilla_tokens_total', 'Tokens that answers say they took (input) and made (output).', [
      'model',
      'replica',
      'direction',
    ]),
    untold: metrics.counter(
      'flotilla_answers_without_usage_total',
      'Answers that do not say how many tokens they were.',
      ['model'],
    ),
    firstToken: metrics.histogram(
      'flotilla_engine_time_to_first_token_seconds',
      'From a request for a stream at the data port to the first piece of its answer.',
      ['model'],
      FIRST_TOKEN_BOUNDS,
    ),
    betweenTokens: metrics.histogram(
      'flotilla_inter_token_latency_seconds',
      'Mean time between two tokens of each stream, by the tokens that it says it had, else by its pieces.',
      ['model'],
      BETWEEN_TOKENS_BOUNDS,
    ),
    phases: metrics.histogram(
      'flotilla_load_phase_seconds',
      'How long replicas took for the phases of their start: installing, staging, loading.',
      ['model', 'phase'],
      PHASE_BOUNDS,
    ),
  }
}

function cellsFor(of: ReturnType<typeof defineAll>, id: string, modelName: string): ReplicaCells {
  const outcomes = OUTCOMES.map((outcome): [string, Cell] => [
    outcome,
    of.requests.cell(modelName, id, outcome.replace(' ', '_')),
  ])
  return {
    outcomes: Object.fromEntries(outcomes) as ReplicaCells['outcomes'],
    tokensIn: of.tokens.cell(modelName, id, 'input'),
    tokensOut: of.tokens.cell(modelName, id, 'output'),
    untold: of.untold.cell(modelName),
    firstToken: of.firstToken.cell(modelName),
    betweenTokens: of.betweenTokens.cell(modelName),
  }
}

function gauges(metrics: Metrics, { problem, replicas, hardware }: WorkerFacts, before: () => void): void {
  metrics.gauge('flotilla_worker_joined', '1 while this worker takes part in the cluster.', [], () => [
    { labels: [], value: problem() === undefined ? 1 : 0 },
  ])
  const help = 'Requests that run now at the engine of a replica.'
  metrics.gauge('flotilla_engine_requests_in_flight', help, ['model', 'replica', 'state'], () => {
    before()
    return replicas().map(({ id, model_name: model, state, in_flight: value }) => ({
      labels: [model, id, state],
      value,
    }))
  })
  metrics.gauge(
    'flotilla_device_memory_bytes',
    'Memory of this machine by device (gpu 0, ram, disk), in all and free, as last measured.',
    ['device', 'kind'],
    () => memoryOf(hardware()),
  )
}

function* memoryOf(hardware: Hardware | undefined): Iterable<Sample> {
  if (!hardware || hardware.total_ram === 0) return
  for (const { index, total_vram: total, available_vram: free } of hardware.devices) {
    yield { labels: [`gpu ${index}`, 'total'], value: total }
    if (free !== null) yield { labels: [`gpu ${index}`, 'available'], value: free }
  }
  yield { labels: ['ram', 'total'], value: hardware.total_ram }
  yield { labels: ['ram', 'available'], value: hardware.available_ram }
  yield { labels: ['disk', 'total'], value: hardware.total_disk }
  yield { labels: ['disk', 'available'], value: hardware.available_disk }
}
