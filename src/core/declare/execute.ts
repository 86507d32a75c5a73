import { isEnding } from '../lifecycle/states.ts'
import { isServedOn } from '../nodes/availability.ts'
import type { Plan } from '../reconcile/plan.ts'
import { reservedReplica } from '../reconcile/reserved-replica.ts'
import type { Node, Replica, World } from '../types.ts'

/**
 * Carries out a whole plan at once: stopped replicas are gone, started ones serve and take what they claimed, and demands
 * for models that serve now are met. `nowMs` is the time when all of it is done.
 */
export function execute(world: World, plan: Plan, nowMs: number = world.nowMs): World {
  const ended = new Set(plan.steps.flatMap((step) => (step.kind === 'reserve' ? [] : [step.replica])))
  const started = plan.steps.flatMap((step) => (step.kind === 'reserve' ? [reservedReplica(step)] : []))
  const {
    gone = [],
    coming = [],
    kept = [],
  } = Object.groupBy(world.replicas, (replica) => {
    if (ended.has(replica) || isEnding(replica.state)) return 'gone'
    return replica.state === 'ready' || replica.state === 'failed' ? 'kept' : 'coming'
  })
  const served = [...coming, ...started].map((replica) => serving(replica, nowMs))
  const readings = new Readings()
  for (const replica of gone) if (isRead(replica)) readings.count(replica, -1)
  for (const replica of served) readings.count(replica, 1)
  const after = { ...world, nowMs, nodes: readings.applyTo(world.nodes), replicas: [...kept, ...served] }
  return { ...after, demands: world.demands.filter(({ modelName }) => !isServed(after, modelName)) }
}

/** Only what has served is in the readings. */
function isRead({ state, readySinceMs }: Replica): boolean {
  return state === 'ready' || state === 'draining' || readySinceMs !== null
}

function serving(replica: Replica, nowMs: number): Replica {
  const { claim } = replica
  const measured = claim ? { devices: claim.devices, ram: claim.ram } : replica.measured
  return { ...replica, state: 'ready', measured, readySinceMs: nowMs }
}

/** A repeated request is served: a replica of this revision runs on a node where the rule allows it. */
function isServed({ replicas, nodes, models, rules }: World, modelName: string): boolean {
  const revision = models.find(({ name }) => name === modelName)?.revision
  const selector = rules.find((rule) => rule.modelName === modelName)?.nodeSelector ?? {}
  return replicas.some((replica) => {
    if (replica.modelName !== modelName || replica.state !== 'ready' || replica.revision !== revision) return false
    const node = nodes.find(({ id }) => id === replica.nodeId)
    return node !== undefined && isServedOn(selector, node)
  })
}

/** The free memory that workers will read next. */
class Readings {
  readonly #byNode = new Map<string, { devices: Map<number, number>; ram: number; disk: number }>()

  /** Files stay when their replica goes. */
  count(replica: Replica, sign: 1 | -1): void {
    const taken = this.#byNode.get(replica.nodeId) ?? { devices: new Map<number, number>(), ram: 0, disk: 0 }
    this.#byNode.set(replica.nodeId, taken)
    for (const { index, bytes } of replica.measured?.devices ?? replica.claim?.devices ?? []) {
      taken.devices.set(index, (taken.devices.get(index) ?? 0) + sign * bytes)
    }
    taken.ram += sign * (replica.measured?.ram ?? replica.claim?.ram ?? 0)
    if (sign === 1) taken.disk += replica.claim?.disk ?? 0
  }

  applyTo(nodes: readonly Node[]): Node[] {
    return nodes.map((node) => {
      const taken = this.#byNode.get(node.id)
      if (!taken) return node
      const devices = node.devices.map((device) => ({
        ...device,
        availableVram: less(device.availableVram, taken.devices.get(device.index) ?? 0, device.totalVram),
      }))
      const availableRam = less(node.availableRam, taken.ram, node.totalRam ?? Infinity)
      return { ...node, devices, availableRam, availableDisk: less(node.availableDisk, taken.disk, Infinity) }
    })
  }
}

function less(available: number | null, taken: number, total: number): number | null {
  return available === null ? null : Math.min(total, Math.max(0, available - taken))
}
