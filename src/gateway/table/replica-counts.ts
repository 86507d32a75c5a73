import { MOST_SETS } from '../../platform/metrics/label-sets.ts'
import type { Cell, Counter, Metrics, Sample } from '../../platform/metrics/metrics.ts'
import type { LiveRoute, LiveTable } from './routing-table.ts'

interface Counted {
  labels: [model: string, node: string, replica: string]
  cell: Cell
  /** It had left the table at the last read, so its last count has been shown. */
  isGone: boolean
}

/**
 * Requests by replica. Replicas come and go, each with a new id, so a replica that has left the table is forgotten once its
 * last count was read.
 */
export class ReplicaCounts {
  readonly #table: Pick<LiveTable, 'route' | 'models' | 'routesOf' | 'loadOf'>
  readonly #requests: Counter
  readonly #counted = new Map<string, Counted>()

  constructor(metrics: Metrics, table: Pick<LiveTable, 'route' | 'models' | 'routesOf' | 'loadOf'>) {
    const labels = ['model', 'node', 'replica']
    this.#table = table
    this.#requests = metrics.counter('flotilla_replica_requests_total', 'Requests that a replica was sent.', labels)
    const help = 'Requests that run now at a replica: of this gateway, and what the others last told.'
    metrics.gauge('flotilla_replica_requests_in_flight', help, [...labels, 'gateway'], () => this.#inFlight())
  }

  count(route: LiveRoute): void {
    const { modelName, nodeName, replicaId } = route
    let counted = this.#counted.get(replicaId)
    if (!counted) {
      const labels: Counted['labels'] = [modelName, nodeName, replicaId]
      counted = { labels, cell: this.#requests.cell(...labels), isGone: false }
      // Beyond the limit it counts together with others, and is looked up each time.
      if (this.#counted.size < MOST_SETS) this.#counted.set(replicaId, counted)
    }
    counted.cell.value += 1
  }

  *#inFlight(): Iterable<Sample> {
    this.#forgetGone()
    for (const { name } of this.#table.models()) {
      for (const route of this.#table.routesOf(name)) {
        const { here, elsewhere } = this.#table.loadOf(route)
        const labels = [name, route.nodeName, route.replicaId]
        yield { labels: [...labels, 'this'], value: here }
        if (elsewhere > 0) yield { labels: [...labels, 'others'], value: elsewhere }
      }
    }
  }

  #forgetGone(): void {
    for (const [id, counted] of this.#counted) {
      const isGone = this.#table.route(id) === undefined
      if (isGone && counted.isGone) {
        this.#requests.forget(...counted.labels)
        this.#counted.delete(id)
      }
      counted.isGone = isGone
    }
  }
}
