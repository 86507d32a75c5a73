import type { PlacePolicy } from '../placement/types.ts'
import type { Plan } from '../reconcile/plan.ts'
import { reconcile } from '../reconcile/reconcile.ts'
import type { World } from '../types.ts'
import { execute } from './execute.ts'
import type { ForeseenStep, Foresight, Impossible } from './types.ts'

/** A change may take a few turns: stop, gone, start. Beyond these it is not worth the wait for an answer. */
const MOST_TURNS = 100
/** More than these nobody reads. */
const MOST_STEPS = 2000

/**
 * What would be done from here on until nothing is left to do, on machines that do all that they are asked at once. Stops
 * after each turn, so that whoever runs it can let others in between: a turn of a large cluster takes its time.
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
 * Every rule is tried: one that waits since it could not be met before may well be met now. Nobody is busy: what the
 * load of this minute would start is no part of what is asked for.
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

/** The claim says none when another replica has them there already, but also when nobody knows how much they are. */
function bytesToMove({ models, facts }: World, { modelName, revision, claim }: Reserve): number | null {
  if (claim.disk > 0) return claim.disk
  if (models.find(({ name }) => name === modelName)?.source === null) return 0
  const known = facts.find((one) => one.modelName === modelName && one.revision === revision)
  return known && known.payloadBytes !== null ? 0 : null
}
