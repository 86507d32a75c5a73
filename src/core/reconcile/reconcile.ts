import { massLoss, stragglers } from '../nodes/mass-loss.ts'
import { evictables } from '../placement/eviction.ts'
import type { Fleet } from '../placement/fleet.ts'
import type { PlacePolicy } from '../placement/types.ts'
import type { Node, Replica, World } from '../types.ts'
import { asEnding } from './as-ending.ts'
import { Memory } from './memory.ts'
import type { Plan } from './plan.ts'
import { idleDueMs } from './scale.ts'
import { sortOut, type Case, type Sets } from './sort-out.ts'
import { startMissing, type Room } from './start-missing.ts'
import type { WorldIndex } from './world-index.ts'

/** Placed in one pass; the next one goes on. So a pass stays short when a large fleet starts from nothing. */
const MOST_STARTS = 200

/**
 * The steps that keep every rule and serve every waiting client. Pure: the same world gives the same plan, with what an
 * earlier pass has left in `memory` or without. With it, a pass costs as much as has changed since.
 */
export function reconcile(world: World, policy: PlacePolicy = 'spread', memory: Memory = new Memory()): Plan {
  const frozen = massLoss(world.nodes, world.lossAcceptedMs)
  const plan: Plan = { steps: [], waiting: [], unmet: [], untried: [], frozen }
  const givenUp = givenUpIn(world, frozen)
  const names = memory.take(world, givenUp)
  const { index, searches } = memory
  const surroundings = { nowMs: world.nowMs, offline: givenUp, nodes: index.nodes }
  const sorted = casesOf(world, index, names).map((one) => ({ one, sets: sortOut(one, surroundings) }))
  for (const name of names) memory.settle(name, Infinity)
  for (const { one, sets } of sorted) memory.settle(one.modelName, dueMs(one, sets))
  // First what goes, so that what comes sees the room.
  for (const { sets } of sorted) giveUp(plan, sets)
  // Most passes find nothing to do; working out what is free everywhere is most of the cost of those that do.
  const seekers = sorted.filter(({ sets }) => sets.missing > 0)
  searches.begin(
    seekers.map(({ one }) => ({ modelName: one.modelName, isWanted: !!one.demand })),
    index.nodes.size,
  )
  if (seekers.length === 0) return plan
  const fleet = index.fleet()
  const going = leaveFleet(fleet, plan)
  let regrets: Map<string, number> | undefined
  const room: Room = {
    world,
    fleet,
    policy,
    startsLeft: MOST_STARTS,
    searches,
    stuck: new Set(),
    // Nothing is evicted during a mass loss, because it is not known what is really lost. An ending replica counts for no
    // minimum: of two, one of which is surplus, the other must not be evicted as well.
    get evictable() {
      if (regrets) return regrets
      const staying = (): Replica[] => world.replicas.filter((replica) => !going.has(replica))
      return (regrets = frozen.length > 0 ? new Map() : evictables({ ...world, replicas: staying() }))
    },
  }
  for (const { one, sets } of seekers) startMissing(plan, room, one, sets, 'urgent')
  for (const { one, sets } of seekers) startMissing(plan, room, one, sets, 'rest')
  return plan
}

/** Nodes that are given up. */
function givenUpIn(world: World, frozen: readonly Node[]): Set<string> {
  const { nodes } = world
  const waited = new Set([...frozen, ...stragglers(nodes, world)])
  const ids = new Set<string>()
  for (const node of nodes) if (node.liveness === 'offline' && !waited.has(node)) ids.add(node.id)
  return ids
}

/** What the steps so far stop holds its room until it is gone. Returns all that does not stay. */
function leaveFleet(fleet: Fleet, { steps }: Plan): Set<Replica> {
  const going = new Set(steps.flatMap((step) => (step.kind === 'reserve' ? [] : [step.replica])))
  for (const replica of going) fleet.remove(replica)
  for (const step of steps) if (step.kind === 'stop') fleet.add(asEnding(step.replica))
  return going
}

/** Of these models each that is wanted or has replicas. Rules come first, by name; then demands, the oldest first. */
function casesOf({ nowMs, loads = [] }: World, index: WorldIndex, names: ReadonlySet<string>): Case[] {
  const { models, rules, demands } = index
  const loadOf = new Map(loads.map((load) => [load.modelName, load]))
  const cases: Case[] = []
  for (const modelName of names) {
    const rule = rules.get(modelName)
    const demand = demands.get(modelName)
    const isWanted = demand !== undefined && demand.wantedUntilMs > nowMs
    const replicas = index.replicasOf(modelName)
    if (!rule && !isWanted && replicas.length === 0) continue
    cases.push({
      modelName,
      model: models.get(modelName),
      rule,
      demand: isWanted ? demand : undefined,
      load: loadOf.get(modelName),
      replicas,
    })
  }
  return cases.toSorted(byUrgency)
}

/** When it has to be looked at again although nothing about it has changed. */
function dueMs({ rule, demand }: Case, { keep, lost, unwanted, stale, failed, done, missing }: Sets): number {
  const isOpen =
    demand !== undefined || missing > 0 || [lost, unwanted, stale, failed, done].some((set) => set.length > 0)
  if (isOpen) return -Infinity
  return rule ? idleDueMs(rule, keep) : Infinity
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
