import type { Model, Node } from '../../src/core/types.ts'
import type { Cluster } from '../cluster.ts'
import type { Unserved } from '../ground.ts'
import { LOAD_WAIT_MS } from '../limits.ts'
import { takenBy } from '../model-kinds.ts'
import type { Machine } from '../machine.ts'
import { versionOf, type Check } from './check.ts'
import { isMeant } from './meant.ts'

/**
 * Who waits for a model is served in time when a node was there all along that could hold it and had nothing else to do;
 * and who is not served is told why, if somebody leads who could.
 */
export function waitingCheck(): Check {
  const since = new Since()
  let seen = -1
  return {
    name: 'waiting (cold loads are served, or say why not)',
    look(cluster) {
      const { ground } = cluster
      const version = versionOf(cluster)
      if (version !== seen) since.update(cluster)
      seen = version
      for (const unserved of ground.happened.unserved) {
        const problem = whyWrong(cluster, since, unserved)
        if (problem) return problem
      }
      return undefined
    },
  }
}

function whyWrong(cluster: Cluster, since: Since, unserved: Unserved): string | undefined {
  const { queue, health, store } = cluster.ground
  const { modelName, sinceMs, why, reason } = unserved
  const waitedMs = queue.nowMs - sinceMs
  const name = `a request for ${modelName} waited ${Math.round(waitedMs / 1000)} s`
  const model = store.models.get(modelName)
  // A wait that was a second one is shorter than what was promised to the first.
  if (
    !model ||
    waitedMs < LOAD_WAIT_MS ||
    health.controlSinceMs() > sinceMs ||
    cluster.ground.bus.disturbedUntilMs > sinceMs
  ) {
    return undefined
  }
  if (reason === undefined) return `${name} and was told nothing`
  if (why !== 'late' || since.disturbedMs(modelName) > sinceMs) return undefined
  const idle = cluster.machines.find(
    (machine) =>
      health.sinceMs(machine.id) < sinceMs &&
      since.othersMs(machine.id, modelName) < sinceMs &&
      store.replicasOfNode(machine.id).every((row) => row.modelName === modelName) &&
      canHold(machine, store.nodes.find(machine.id), model) &&
      isMeant(store.rules.get(modelName), store.nodes.find(machine.id)!),
  )
  return idle && `${name}, though ${idle.id} had nothing else to do: ${reason}`
}

/** Since when things are as they are. */
class Since {
  /** When a row of the model was last on the node, by both. */
  readonly #rows = new Map<string, Map<string, number>>()
  readonly #nodes = new Map<string, { node: Node; atMs: number }>()
  readonly #models = new Map<string, { revision: string; atMs: number }>()

  update({ ground }: Cluster): void {
    const { store, queue } = ground
    const atMs = queue.nowMs
    for (const node of store.nodes.list()) {
      const before = this.#nodes.get(node.id)
      if (!before || !isAlike(before.node, node)) this.#nodes.set(node.id, { node, atMs })
    }
    for (const { name, revision } of store.models.values()) {
      if (this.#models.get(name)?.revision !== revision) this.#models.set(name, { revision, atMs })
    }
    for (const { nodeId, modelName, state } of store.replicas.values()) {
      const onNode = this.#rows.get(nodeId) ?? new Map<string, number>()
      this.#rows.set(nodeId, onNode.set(modelName, atMs))
      // A start that fails, a replica that ends, a node that falls silent: they take time that nobody promised.
      const isOut = state === 'failed' || state === 'draining' || state === 'stopping'
      if (isOut || store.nodes.find(nodeId)?.liveness !== 'online') this.#disturb(modelName, atMs)
    }
  }

  disturbedMs(modelName: string): number {
    return this.#models.get(modelName)?.atMs ?? 0
  }

  /** When the node was last another, or got or lost anything else. */
  othersMs(nodeId: string, modelName: string): number {
    const others = [...(this.#rows.get(nodeId) ?? [])].filter(([name]) => name !== modelName).map(([, atMs]) => atMs)
    return Math.max(this.#nodes.get(nodeId)?.atMs ?? Infinity, ...others)
  }

  #disturb(modelName: string, atMs: number): void {
    const model = this.#models.get(modelName)
    if (model) model.atMs = atMs
  }
}

function isAlike(a: Node, b: Node): boolean {
  const relevant = ({ approved, desired, liveness, bootId, labels, vramBudget, maxReplicasPerModel, engines }: Node) =>
    JSON.stringify([approved, desired, liveness, bootId, labels, vramBudget, maxReplicasPerModel, engines])
  return a === b || relevant(a) === relevant(b)
}

/** On one device, or without any; with room to spare, since only clear cases are judged. */
function canHold({ hardware }: Machine, node: Node | undefined, model: Model): boolean {
  if (!node?.approved || node.desired !== 'active' || node.liveness !== 'online') return false
  if (node.vramBudget !== null || node.engines[model.engine]?.whyNot !== null) return false
  const devices = hardware.devices.length > 0 ? [0] : []
  const spec = { engine: model.engine, options: model.options, devices }
  if (model.engine === 'greedy' && devices.length === 0) return false
  const { devices: taken, ram } = takenBy(spec, hardware)
  const said = (model.memory?.vram ?? 0) + (model.memory?.ram ?? 0)
  const roomOf = (bytes: number): number => 0.8 * bytes
  return (
    Math.max(said, ...taken.map(({ bytes }) => bytes)) <= roomOf(hardware.devices[0]?.totalVram ?? hardware.totalRam) &&
    ram + (hardware.devices[0]?.unified ? taken[0]!.bytes : 0) <= roomOf(hardware.totalRam)
  )
}
