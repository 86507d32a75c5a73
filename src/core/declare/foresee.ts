import type { PlacePolicy } from '../placement/types.ts'
import type { Plan } from '../reconcile/plan.ts'
import { reconcile } from '../reconcile/reconcile.ts'
import type { World } from '../types.ts'
import { execute } from './execute.ts'
import type { ForeseenStep, Foresight, Impossible } from './types.ts'

/** A change may take a few turns: stop, gone, start. A longer chain is not worth the caller's wait. */
const MOST_TURNS = 100
/** A person reads no more than these. */
const MOST_STEPS = 2000

/**
 * All steps from here until nothing is left to do, on machines that carry out every step at once. Yields after each turn,
 * so that the caller can let other work run: one turn of a large cluster takes a while.
 */
export function* foreseeing(start: World, policy: PlacePolicy): Generator<undefined, Foresight> {
  const steps: ForeseenStep[] = []
  let world = calm(start)
  let plan = reconcile(world, policy)
  for (let turn = 0; turn < MOST_TURNS && steps.length < MOST_STEPS && !isDone(plan); turn += 1) {
    steps.push(...stepsOf(world, plan))
    world = execute(world, plan)
    yield
    plan = reconcile(world, policy)
  }
  return { steps: steps.slice(0, MOST_STEPS), impossible: plan.unmet, frozen: plan.frozen, isComplete: isDone(plan) }
}

/** What cannot be met as things are. */
export function impossibleNow(world: World, policy: PlacePolicy): Impossible[] {
  return reconcile(calm(world), policy).unmet
}

/**
 * Closes every breaker, because a rule that could not be met before may be met now. Drops the load figures: what the load
 * of this minute would start is not part of the question.
 */
function calm(world: World): World {
  const rules = world.rules.map((rule) => ({ ...rule, unsatisfiableUntilMs: null, unsatisfiableTicks: 0 }))
  return { ...world, rules, loads: [] }
}

function isDone({ steps, waiting }: Plan): boolean {
  return steps.length + waiting.length === 0
}

function stepsOf(world: World, { steps }: Plan): ForeseenStep[] {
  return steps.flatMap((step): ForeseenStep[] => {
    switch (step.kind) {
      case 'reserve': {
        const { modelName, replicaIndex, nodeId, claim } = step
        return [{ kind: 'start', modelName, replicaIndex, nodeId, claim, bytesToMove: bytesToMove(world, step) }]
      }
      case 'stop':
      case 'evict':
        return [step]
      case 'forget':
        // A start that failed has left nothing that could be missed.
        return step.why === 'node offline' ? [{ kind: 'lost', replica: step.replica }] : []
    }
  })
}

type Reserve = Extract<Plan['steps'][number], { kind: 'reserve' }>

/** A claim of 0 means that another replica already has the files there, or that their size is unknown. */
function bytesToMove({ models, facts }: World, { modelName, revision, claim }: Reserve): number | null {
  if (claim.disk > 0) return claim.disk
  if (models.find(({ name }) => name === modelName)?.source === null) return 0
  const known = facts.find((one) => one.modelName === modelName && one.revision === revision)
  return known && known.payloadBytes !== null ? 0 : null
}
