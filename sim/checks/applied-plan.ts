import type { Plan } from '../../src/core/reconcile/plan.ts'
import type { World } from '../../src/core/types.ts'

/** What a leader did in one turn, with the world it did it in. */
export interface AppliedPlan {
  before: World
  plan: Plan
}
