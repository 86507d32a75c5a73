import { MOST_TOLD_NODES } from '../../api/rule-decision.ts'
import type { Refusal } from '../../core/placement/types.ts'
import { describeRefusal } from '../../core/placement/refusals.ts'
import type { Plan } from '../../core/reconcile/plan.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { ControlEvents } from './narrate.ts'

const PATIENCE_MS = 5000

interface Known {
  reasons: string
  sinceMs: number
  told: boolean
}

/**
 * Reports rules that cannot be met: each once per change of its reasons, and only when they last. At every start there is a
 * moment without nodes.
 */
export class UnmetRules {
  readonly #clock: Clock
  readonly #events: ControlEvents
  #known = new Map<string, Known>()

  constructor(clock: Clock, events: ControlEvents) {
    this.#clock = clock
    this.#events = events
  }

  tell({ unmet, untried }: Pick<Plan, 'unmet' | 'untried'>): void {
    const nowMs = this.#clock.nowMs()
    const known = new Map<string, Known>()
    for (const modelName of untried) {
      const before = this.#known.get(modelName)
      if (before) known.set(modelName, before)
    }
    for (const { modelName, missing, refusals } of unmet) {
      const some = refusals.slice(0, MOST_TOLD_NODES)
      const more = refusals.length - some.length
      const reasons = JSON.stringify([missing, more, some.map(lasting)])
      const before = this.#known.get(modelName)
      const one = before?.reasons === reasons ? before : { reasons, sinceMs: nowMs, told: false }
      known.set(modelName, one)
      if (one.told || nowMs - one.sinceMs < PATIENCE_MS) continue
      one.told = true
      const texts = some.map((refusal) => `${refusal.nodeName}: ${describeRefusal(refusal)}`)
      if (more > 0) texts.push(`and ${more} more`)
      this.#events.unmet(modelName, missing, texts.join(', ') || 'there are no nodes')
    }
    this.#known = known
  }
}

/** A wait that counts down, or free memory that varies a little, is the same reason all along. */
function lasting({ nodeId, filter, available }: Refusal): unknown[] {
  return VARYING.has(filter) ? [nodeId, filter] : [nodeId, filter, available]
}

const VARYING: ReadonlySet<Refusal['filter']> = new Set(['failing', 'memory', 'disk'])
