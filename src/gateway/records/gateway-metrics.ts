import type { HistogramCell } from '../../platform/metrics/histogram-cell.ts'
import { MOST_SETS, OTHER } from '../../platform/metrics/label-sets.ts'
import type { Cell, Metrics } from '../../platform/metrics/metrics.ts'
import type { Decision, Try } from './decision.ts'
import { ReplicaCounts } from '../table/replica-counts.ts'
import { tableGauges, type TableFacts } from './table-gauges.ts'
import type { LiveRoute } from '../table/routing-table.ts'

/** Takes the events that the gateway's metrics count. */
export interface GatewayCounts {
  /** Called at the end of each request. */
  ended: (decision: Decision) => void
  /** Called when a replica is ejected. */
  ejected: (route: LiveRoute) => void
}

/** In seconds, from a cached answer to a long text. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

/** The metrics of a gateway. For a known model, a request costs two lookups and some additions. */
export function gatewayMetrics(metrics: Metrics, facts: TableFacts): GatewayCounts {
  const { table } = facts
  const define = defineAll(metrics)
  const replicas = new ReplicaCounts(metrics, table)
  const models = new Map<string, ModelCells>()
  const picks = new Map<string, Cell>()
  tableGauges(metrics, facts)

  /** By the name of a model that exists; all other names, which clients can invent, count as `unknown`. */
  const cellsOf = (model: string | null): ModelCells => {
    const known = model === null ? undefined : models.get(model)
    if (known) return known
    const isModel = model !== null && table.model(model) !== undefined
    const name = isModel ? (models.size < MOST_SETS ? model : OTHER) : 'unknown'
    let cells = models.get(name)
    if (!cells) models.set(name, (cells = new ModelCells(define, name)))
    return cells
  }
  const picked = (policy: string, count: number): void => {
    let cell = picks.get(policy)
    if (!cell) picks.set(policy, (cell = define.picks.cell(policy)))
    cell.value += count
  }

  return {
    ended(decision) {
      const { tries } = decision
      cellsOf(decision.model).ended(decision)
      if (tries.length === 0) return
      if (decision.policy !== null) picked(decision.policy, tries.length)
      for (const { route } of tries) replicas.count(route)
    },
    ejected({ modelName, nodeName }) {
      define.ejections.cell(modelName, nodeName).value += 1
    },
  }
}

type Defined = ReturnType<typeof defineAll>

function defineAll(metrics: Metrics) {
  const counter = metrics.counter.bind(metrics)
  const seconds = (name: string, help: string) => metrics.histogram(name, help, ['model'], BOUNDS)
  return {
    requests: counter('flotilla_requests_total', 'Requests that ended, by the status that was answered.', [
      'model',
      'status',
    ]),
    duration: seconds('flotilla_request_duration_seconds', 'From the head of a request to the end of its answer.'),
    firstToken: seconds(
      'flotilla_time_to_first_token_seconds',
      'From the head of a request for a stream to the first piece of its answer, waits and tries included.',
    ),
    queued: seconds('flotilla_queue_wait_seconds', 'How long requests waited for their turn, of those that had to.'),
    loadWait: seconds(
      'flotilla_load_wait_seconds',
      'How long requests waited for their model to be loaded, of those that had to.',
    ),
    tries: counter('flotilla_tries_total', 'Replicas that requests were sent to, by how that went.', [
      'model',
      'outcome',
    ]),
    retries: counter('flotilla_retries_total', 'Tries after the first, of the same request.', ['model']),
    picks: counter('flotilla_picks_total', 'Replicas that were picked, by the policy that did.', ['policy']),
    ejections: counter('flotilla_ejections_total', 'Times that this gateway left a replica out for a while.', [
      'model',
      'node',
    ]),
  }
}

/** The metric cells of one model, kept so that its requests need no lookup by labels. */
class ModelCells {
  readonly #define: Defined
  readonly #name: string
  readonly #duration: HistogramCell
  readonly #statuses = new Map<number, Cell>()
  readonly #outcomes = new Map<Try['outcome'], Cell>()

  constructor(define: Defined, name: string) {
    this.#define = define
    this.#name = name
    this.#duration = define.duration.cell(name)
  }

  ended({ status, atMs, endedMs, firstByteMs, isStream, queuedMs, loadWaitMs, tries }: Decision): void {
    const { requests, firstToken, queued, loadWait, retries } = this.#define
    const name = this.#name
    let cell = this.#statuses.get(status)
    if (!cell) this.#statuses.set(status, (cell = requests.cell(name, String(status))))
    cell.value += 1
    this.#duration.observe((endedMs - atMs) / 1000)
    if (isStream && firstByteMs > 0 && status < 400) firstToken.cell(name).observe((firstByteMs - atMs) / 1000)
    if (queuedMs > 0) queued.cell(name).observe(queuedMs / 1000)
    if (loadWaitMs > 0) loadWait.cell(name).observe(loadWaitMs / 1000)
    if (tries.length > 1) retries.cell(name).value += tries.length - 1
    for (const { outcome } of tries) this.#countOutcome(outcome)
  }

  #countOutcome(outcome: Try['outcome']): void {
    let cell = this.#outcomes.get(outcome)
    if (!cell) {
      cell = this.#define.tries.cell(this.#name, outcome.replace(' ', '_'))
      this.#outcomes.set(outcome, cell)
    }
    cell.value += 1
  }
}
