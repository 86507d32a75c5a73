import { massLoss } from '../nodes/mass-loss.ts'
import { evictables } from '../placement/eviction.ts'
import { Fleet } from '../placement/fleet.ts'
import type { PlacePolicy } from '../placement/types.ts'
import type { Replica, World } from '../types.ts'
import { asEnding } from './as-ending.ts'
import type { Plan } from './plan.ts'
import { sortOut, type Case, type Sets } from './sort-out.ts'
import { startMissing, type Room } from './start-missing.ts'

/** Placed in one pass; the next one goes on. So a pass stays short when a large fleet starts from nothing. */
const MOST_STARTS = 200

/** What to do so that every rule is kept and everybody who waits is served. Pure: the same world gives the same plan. */
export function reconcile(world: World, policy: PlacePolicy = 'spread'): Plan {
  const plan: Plan = { steps: [], waiting: [], unmet: [], frozen: massLoss(world.nodes, world.lossAcceptedMs) }
  const gone = world.nodes.filter((node) => node.liveness === 'offline' && !plan.frozen.includes(node))
  const surroundings = {
    nowMs: world.nowMs,
    offline: new Set(gone.map((node) => node.id)),
    nodes: new Map(world.nodes.map((node) => [node.id, node])),
  }
  const sorted = casesOf(world).map((one) => ({ one, sets: sortOut(one, surroundings) }))
  // First what goes, so that what comes sees the room.
  for (const { sets } of sorted) giveUp(plan, sets)
  // Most passes find all as it should be: to work out what is free everywhere is most of the cost of one that does not.
  if (sorted.every(({ sets }) => sets.missing === 0)) return plan
  const { staying, ending } = afterSteps(world, plan)
  const fleet = new Fleet(world.nodes, [...staying, ...ending], world.models)
  let regrets: Map<string, number> | undefined
  const room: Room = {
    world,
    fleet,
    policy,
    startsLeft: MOST_STARTS,
    // Nothing is stopped for another while nobody knows what is really lost. What is on its way out counts for no minimum:
    // of two, one of which is surplus, the other is not to be evicted as well.
    get evictable() {
      regrets ??= plan.frozen.length > 0 ? new Map() : evictables({ ...world, replicas: staying })
      return regrets
    },
  }
  for (const { one, sets } of sorted) startMissing(plan, room, one, sets, 'urgent')
  for (const { one, sets } of sorted) startMissing(plan, room, one, sets, 'rest')
  return plan
}

/** The replicas that the steps so far leave as they are, and those that they stop: these hold their room until they are gone. */
function afterSteps({ replicas }: World, { steps }: Plan): { staying: Replica[]; ending: Replica[] } {
  const going = new Set(steps.flatMap((step) => (step.kind === 'reserve' ? [] : [step.replica])))
  const ending = steps.flatMap((step) => (step.kind === 'stop' ? [asEnding(step.replica)] : []))
  return { staying: replicas.filter((replica) => !going.has(replica)), ending }
}

/** Every model that is asked for or is there. Rules come first, by name; then those who wait, the longest first. */
function casesOf({ nowMs, models, rules, replicas, demands, loads = [] }: World): Case[] {
  const modelOf = new Map(models.map((model) => [model.name, model]))
  const ruleOf = new Map(rules.map((rule) => [rule.modelName, rule]))
  const demandOf = new Map(demands.filter((one) => one.wantedUntilMs > nowMs).map((one) => [one.modelName, one]))
  const loadOf = new Map(loads.map((load) => [load.modelName, load]))
  const replicasOf = Map.groupBy(replicas, ({ modelName }) => modelName)
  const names = new Set([...ruleOf.keys(), ...replicasOf.keys(), ...demandOf.keys()])
  return [...names]
    .map((modelName) => ({
      modelName,
      model: modelOf.get(modelName),
      rule: ruleOf.get(modelName),
      demand: demandOf.get(modelName),
      load: loadOf.get(modelName),
      replicas: replicasOf.get(modelName) ?? [],
    }))
    .toSorted(byUrgency)
}

function byUrgency(a: Case, b: Case): number {
  return urgency(a) - urgency(b) || (a.modelName < b.modelName ? -1 : 1)
}

function urgency({ rule, demand }: Case): number {
  if (rule && (rule.spreadAll || rule.minReplicas > 0)) return 0
  return demand?.sinceMs ?? Number.MAX_SAFE_INTEGER
}

function giveUp({ steps }: Plan, sets: Sets): void {
  for (const replica of sets.lost) steps.push({ kind: 'forget', replica, why: 'node offline' })
  for (const replica of sets.done) steps.push({ kind: 'forget', replica, why: 'failed' })
  for (const { replica, why } of sets.unwanted) steps.push({ kind: 'stop', replica, why })
}
