import type { Fleet } from '../placement/fleet.ts'
import { needOf } from '../placement/need-of.ts'
import { place } from '../placement/place.ts'
import type { Need } from '../memory/types.ts'
import type { PlacePolicy, Placement } from '../placement/types.ts'
import type { Model, Replica, World } from '../types.ts'
import { asEnding } from './as-ending.ts'
import type { Plan } from './plan.ts'
import type { Searches } from './searches.ts'
import { reservedReplica } from './reserved-replica.ts'
import type { Case, Sets } from './sort-out.ts'

export interface Room {
  world: World
  /** As it will be after the steps so far. */
  fleet: Fleet
  policy: PlacePolicy
  /** What may be stopped to make room, with the regret of it; worked out when it is first asked for. */
  readonly evictable: Map<string, number>
  /** How many more may be placed in this pass. */
  startsLeft: number
  searches: Searches
  /** Models that wait for room, were refused or were not tried: the pass is over for them. */
  stuck: Set<string>
}

/**
 * Other nodes first; a node where the model failed to start is tried again when its wait is over and no other is left.
 * Urgent starts of any model come before all others: a start without demand must not take another model's room.
 */
export function startMissing(plan: Plan, room: Room, one: Case, sets: Sets, which: 'urgent' | 'rest'): void {
  const { searches, fleet, stuck } = room
  const { modelName } = one
  const isUrgent = which === 'urgent'
  const count = isUrgent ? sets.urgent : sets.missing - sets.urgent
  if (!one.model || count === 0 || stuck.has(modelName)) return
  if (!searches.mayTry(modelName)) {
    stuck.add(modelName)
    plan.untried.push(modelName)
    return
  }
  const start = new Start(plan, room, one, one.model, sets, isUrgent)
  if (sets.missingOn.length > 0) return startOnEach(plan, room, start, sets.missingOn)
  for (let missing = count; missing > 0 && room.startsLeft > 0; missing -= 1) {
    const shape = start.shape
    const placement = searches.knownFor(shape, fleet.version) ?? start.next()
    if (!placement) continue
    stuck.add(modelName)
    if (placement.ok) return
    searches.refuse(modelName, placement, shape, fleet.version)
    // No room for a replica beyond what the model must have is not worth reporting.
    const { refusals, advice, isBusy } = placement
    if (isUrgent || !sets.keep.some(({ state }) => state === 'ready')) {
      plan.unmet.push({ modelName, missing, refusals, advice, isBusy })
    }
    return
  }
}

/** A refusal of one node does not stop the search for the others. */
function startOnEach(plan: Plan, { searches, fleet, stuck }: Room, start: Start, nodeIds: readonly string[]): void {
  const refused = nodeIds.flatMap((nodeId) => {
    const placement = start.isAllowed ? start.next(nodeId) : undefined
    return placement && !placement.ok ? [placement] : []
  })
  if (refused.length === 0) return
  const { modelName } = start
  const unmet = {
    ok: false,
    refusals: refused.flatMap(({ refusals }) => refusals),
    advice: refused.flatMap(({ advice }) => advice).slice(0, MOST_ADVICE),
    isBusy: refused.every(({ isBusy }) => isBusy),
  } as const
  stuck.add(modelName)
  searches.refuse(modelName, unmet, undefined, fleet.version)
  const { refusals, advice, isBusy } = unmet
  plan.unmet.push({ modelName, missing: refused.length, refusals, advice, isBusy })
}

const MOST_ADVICE = 5

/** The starts of one model in one plan. */
class Start {
  readonly modelName: string
  readonly #plan: Plan
  readonly #room: Room
  readonly #need: Need
  readonly #revision: string
  readonly #stale: [string, number][]
  readonly #mayEvict: boolean
  /** Failed ones whose wait is over. */
  readonly #due: Replica[]
  /** Models that need the same, and of which there is nothing yet, have the same answer; undefined when it has its own. */
  readonly shape: string | undefined

  constructor(plan: Plan, room: Room, { replicas }: Case, model: Model, { failed, stale }: Sets, mayEvict: boolean) {
    const { nowMs } = room.world
    this.modelName = model.name
    this.#plan = plan
    this.#room = room
    // Its own replicas are all that it looks at.
    this.#need = needOf({ ...room.world, replicas }, model)
    this.#revision = model.revision
    this.#mayEvict = mayEvict
    // Replicas of an old revision get no requests: stopping one has no regret.
    this.#stale = stale.map(({ id }) => [id, 0])
    this.shape = replicas.length === 0 ? shapeOf(this.#need, mayEvict) : undefined
    const tried = new Set(plan.steps.flatMap((step) => (step.kind === 'forget' ? [step.replica] : [])))
    this.#due = failed.filter((replica) => (replica.retryAtMs ?? 0) <= nowMs && !tried.has(replica))
  }

  get isAllowed(): boolean {
    return this.#room.startsLeft > 0
  }

  /** Plans one more, on that node or on any. Returns the placement when it has to wait for room, or is refused. */
  next(only?: string): Placement | undefined {
    const { fleet, world } = this.#room
    const evictable = (): ReadonlyMap<string, number> => this.#evictable()
    const due = only === undefined ? this.#due : this.#due.filter(({ nodeId }) => nodeId === only)
    const { placement, before } = placeNext(this.#room, this.#need, due, { evictable, only })
    if (!placement.ok) return placement
    const { isNow, victims, waitsFor, nodeId, replicaIndex, claim } = placement
    const slot = { modelName: this.modelName, revision: this.#revision, nodeId, replicaIndex, claim }
    if (!isNow) {
      this.#makeRoom(nodeId, victims, waitsFor)
      // Held from now on: otherwise others would take what becomes free bit by bit, and the evictions would be in vain.
      fleet.add(reservedReplica({ ...slot, generation: world.nowMs, failures: 0 }))
      return placement
    }
    if (before) this.#plan.steps.push({ kind: 'forget', replica: before, why: 'failed' })
    if (before) this.#due.splice(this.#due.indexOf(before), 1)
    // The store's time, so that it grows even after the slot's last row was deleted.
    const generation = Math.max(world.nowMs, (before?.generation ?? 0) + 1)
    // A slot that failed before keeps its count, so that the wait between tries grows.
    const reserved = { ...slot, generation, failures: before?.failures ?? 0 }
    this.#plan.steps.push({ kind: 'reserve', ...reserved })
    this.#room.startsLeft -= 1
    fleet.add(reservedReplica(reserved))
    return undefined
  }

  #evictable(): ReadonlyMap<string, number> {
    if (this.#mayEvict && this.#stale.length === 0) return this.#room.evictable
    return new Map([...(this.#mayEvict ? this.#room.evictable : []), ...this.#stale])
  }

  #makeRoom(nodeId: string, victims: readonly Replica[], waitsFor: readonly Replica[]): void {
    for (const replica of victims) {
      this.#plan.steps.push(stopFor(replica, this.modelName))
      this.#room.evictable.delete(replica.id)
      this.#room.fleet.remove(replica)
      this.#room.fleet.add(asEnding(replica))
    }
    this.#plan.waiting.push({ modelName: this.modelName, nodeId, waitsFor: [...victims, ...waitsFor] })
  }
}

/** All that a search depends on but the fleet itself. */
function shapeOf({ model, selector, facts, learned }: Need, mayEvict: boolean): string | undefined {
  const { engine, options, memory, antiAffinity } = model
  if (antiAffinity !== null || learned.length > 0) return undefined
  return JSON.stringify([mayEvict, engine, options, memory, selector, facts?.payloadBytes, facts?.header])
}

interface Next {
  placement: Placement
  /** The failed one whose place it takes, when it starts now. */
  before?: Replica | undefined
}

interface Where {
  evictable?: () => ReadonlyMap<string, number>
  only: string | undefined
}

const NOBODY: ReadonlyMap<string, number> = new Map()

/** Retrying a node that failed costs less than stopping what serves; evicting there is the last resort. */
function placeNext(room: Room, need: Need, due: readonly Replica[], where: Where): Next {
  const fresh = placeIn(room, need, where)
  if (due.length === 0 || (fresh.ok && fresh.victims.length === 0)) return { placement: fresh }
  const again = placeAgain(room, need, due, { only: where.only })
  if (again.before) return again
  return fresh.ok ? { placement: fresh } : placeAgain(room, need, due, where)
}

/** Treats replicas whose wait is over as if they had never failed. Their rows go when they are tried again, not before. */
function placeAgain(room: Room, need: Need, due: readonly Replica[], where: Where): Next {
  const { fleet } = room
  const failing = new Map(need.failing)
  for (const before of due) {
    failing.delete(before.nodeId)
    fleet.remove(before)
  }
  const placement = placeIn(room, { ...need, failing }, where)
  const isNow = placement.ok && placement.isNow
  const here = placement.ok ? due.filter(({ nodeId }) => nodeId === placement.nodeId) : []
  const before = here.find(({ replicaIndex }) => placement.ok && replicaIndex === placement.replicaIndex) ?? here[0]
  for (const one of due) if (!isNow || one !== before) fleet.add(one)
  return isNow ? { placement, before } : { placement }
}

function placeIn({ fleet, policy }: Room, need: Need, { evictable, only }: Where): Placement {
  return place(need, fleet, {
    policy,
    isBrief: true,
    ...(only !== undefined && { only }),
    get evictable() {
      return evictable?.() ?? NOBODY
    },
  })
}

function stopFor(replica: Replica, modelName: string): Plan['steps'][number] {
  return replica.modelName === modelName
    ? { kind: 'stop', replica, why: 'old revision' }
    : { kind: 'evict', replica, forModel: modelName }
}
