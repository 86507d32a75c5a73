import type { Plan } from '../core/reconcile/reconcile.ts'
import type { Clock } from '../platform/clock.ts'
import type { ControlEvents } from './events.ts'

const PATIENCE_MS = 5000

/** Tells of rules that cannot be met: once per change of reasons, and only when they last. At every start there is a moment without nodes. */
export class UnmetRules {
  readonly #clock: Clock
  readonly #events: ControlEvents
  #now = { what: '[]', sinceMs: 0, told: true }

  constructor(clock: Clock, events: ControlEvents) {
    this.#clock = clock
    this.#events = events
  }

  tell(unmet: Plan['unmet']): void {
    const what = JSON.stringify(unmet)
    const nowMs = this.#clock.nowMs()
    if (what !== this.#now.what) this.#now = { what, sinceMs: nowMs, told: false }
    if (this.#now.told || nowMs - this.#now.sinceMs < PATIENCE_MS) return
    this.#now.told = true
    for (const { modelName, missing, refusals } of unmet) {
      const reasons = refusals.map((refusal) => `${refusal.nodeName}: ${refusal.filter} (${refusal.available})`)
      this.#events.unmet(modelName, missing, reasons.join(', ') || 'there are no nodes')
    }
  }
}
