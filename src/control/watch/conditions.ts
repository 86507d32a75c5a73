import type { Problem } from '../../api/admin/cluster-schemas.ts'
import type { Logger } from '../../platform/run/log.ts'

/** What an admin is told of a condition. */
export interface Condition {
  kind: Extract<Problem['kind'], 'cluster' | 'store' | 'gateway' | 'process'>
  severity: Problem['severity']
  text: string
  advice?: string | null
  node?: { id: string | null; name: string }
}

/**
 * What is wrong now and stands in no row of the store: a disk that is full, another leader on the bus, a node that
 * gateways cannot reach. `status`, the dashboard and `/readyz` list these before all else.
 */
export class Conditions {
  readonly #log: Logger
  readonly #standing = new Map<string, Condition>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** The condition `name` holds, as described. The log has one line when it begins. */
  begin(name: string, condition: Condition): void {
    const level = condition.severity === 'error' ? 'error' : 'warn'
    if (!this.#standing.has(name)) this.#log[level]({ condition: name, advice: condition.advice }, condition.text)
    this.#standing.set(name, condition)
  }

  /** The condition has ended; the log has a line if it held. */
  end(name: string): void {
    const condition = this.#standing.get(name)
    if (!condition) return
    this.#standing.delete(name)
    this.#log.info({ condition: name }, `over: ${condition.text}`)
  }

  /** Begins or ends it, for a condition that is checked repeatedly. */
  look(name: string, condition: Condition | undefined): void {
    if (condition) this.begin(name, condition)
    else this.end(name)
  }

  problems(): Problem[] {
    return [...this.#standing.values()].map(({ kind, severity, text, advice = null, node }) => {
      return {
        kind,
        severity,
        text,
        advice,
        node_id: node?.id ?? null,
        node_name: node?.name ?? null,
        key: null,
        model_name: null,
      }
    })
  }

  /** In one line, for `/readyz`. */
  note(): string | undefined {
    return [...this.#standing.values()].map(({ text }) => text).join('; ') || undefined
  }
}
