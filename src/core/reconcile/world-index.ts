import { Fleet } from '../placement/fleet.ts'
import type { Demand, Model, Node, Replica, Rule, World } from '../types.ts'
import { changedRows } from './changed-rows.ts'

/**
 * A world by the names that a pass looks for, and what is free on its nodes. The next world is taken in by the rows that
 * differ, so that this costs as much as has changed; what it says then is what a new one would say (`reconcile.ts` and its
 * property test rely on it). Rows must be replaced and never changed.
 */
export class WorldIndex {
  readonly nodes = new Map<string, Node>()
  readonly models = new Map<string, Model>()
  readonly rules = new Map<string, Rule>()
  readonly demands = new Map<string, Demand>()
  /** In the order of their slots, as those of a node. */
  readonly #replicasOf = new Map<string, Replica[]>()
  readonly #replicasOn = new Map<string, Replica[]>()
  #world: World = NO_WORLD
  #fleet: Fleet | undefined
  /** Nodes that the fleet does not know as they are. */
  readonly #stale = new Set<string>()

  /** Takes in the next world. Returns the models that it may say something else of than the last one. */
  take(world: World): Set<string> {
    const touched = new Set<string>()
    const before = this.#world
    this.#world = world
    for (const name of replaceRows(this.rules, before.rules, world.rules, modelNameOf)) touched.add(name)
    for (const name of replaceRows(this.demands, before.demands, world.demands, modelNameOf)) touched.add(name)
    const others = [changedRows(before.facts, world.facts), changedRows(before.learned, world.learned)]
    for (const { gone, come } of others) for (const { modelName } of [...gone, ...come]) touched.add(modelName)
    this.#takeReplicas(before.replicas, world.replicas, touched)
    for (const name of replaceRows(this.models, before.models, world.models, ({ name }) => name)) {
      touched.add(name)
      this.#fleet?.setModel(name, this.models.get(name))
      // How much a replica holds depends on its engine.
      for (const { nodeId } of this.replicasOf(name)) this.#stale.add(nodeId)
    }
    this.#takeNodes(before.nodes, world.nodes, touched)
    return touched
  }

  replicasOf(modelName: string): readonly Replica[] {
    return this.#replicasOf.get(modelName) ?? []
  }

  replicasOn(nodeId: string): readonly Replica[] {
    return this.#replicasOn.get(nodeId) ?? []
  }

  /** The caller may add to it and take from it: the next call brings it back to the world as it is. */
  fleet(): Fleet {
    if (!this.#fleet) {
      const replicas = [...this.#replicasOn.values()].flat()
      this.#fleet = new Fleet([...this.nodes.values()], replicas, [...this.models.values()])
      this.#stale.clear()
      return this.#fleet
    }
    for (const id of this.#fleet.takeChanged()) this.#stale.add(id)
    for (const id of this.#stale) this.#fleet.setNode(id, this.nodes.get(id), this.replicasOn(id))
    this.#stale.clear()
    return this.#fleet
  }

  #takeReplicas(before: readonly Replica[], now: readonly Replica[], touched: Set<string>): void {
    const { gone, come } = changedRows(before, now)
    for (const replica of gone) {
      removeFrom(this.#replicasOf, replica.modelName, replica)
      removeFrom(this.#replicasOn, replica.nodeId, replica)
    }
    const names = new Set<string>()
    const ids = new Set<string>()
    for (const replica of gone) {
      names.add(replica.modelName)
      ids.add(replica.nodeId)
    }
    for (const replica of come) {
      const { modelName, nodeId } = replica
      addTo(this.#replicasOf, modelName, replica)
      addTo(this.#replicasOn, nodeId, replica)
      names.add(modelName)
      ids.add(nodeId)
    }
    for (const name of names) {
      sortInPlace(this.#replicasOf.get(name) ?? [])
      touched.add(name)
    }
    for (const id of ids) {
      sortInPlace(this.#replicasOn.get(id) ?? [])
      this.#stale.add(id)
    }
  }

  #takeNodes(before: readonly Node[], now: readonly Node[], touched: Set<string>): void {
    const { gone, come } = changedRows(before, now)
    const old = new Map(gone.map((node) => [node.id, node]))
    for (const { id } of gone) this.nodes.delete(id)
    for (const node of come) this.nodes.set(node.id, node)
    let isOtherFleet = false
    for (const id of new Set([...old.keys(), ...come.map((node) => node.id)])) {
      this.#stale.add(id)
      // What a node has free is no reason to look at what it runs.
      if (isSameMember(old.get(id), this.nodes.get(id))) continue
      isOtherFleet = true
      for (const { modelName } of this.replicasOn(id)) touched.add(modelName)
    }
    if (!isOtherFleet) return
    for (const { modelName, spreadAll } of this.rules.values()) if (spreadAll) touched.add(modelName)
  }
}

const NO_WORLD: World = {
  nowMs: 0,
  nodes: [],
  models: [],
  rules: [],
  replicas: [],
  demands: [],
  facts: [],
  learned: [],
}

function modelNameOf({ modelName }: { modelName: string }): string {
  return modelName
}

/** Returns the names of those that differ. */
function replaceRows<T>(
  rows: Map<string, T>,
  before: readonly T[],
  now: readonly T[],
  nameOf: (row: T) => string,
): string[] {
  const { gone, come } = changedRows(before, now)
  for (const row of gone) rows.delete(nameOf(row))
  for (const row of come) rows.set(nameOf(row), row)
  return [...gone, ...come].map(nameOf)
}

function removeFrom(lists: Map<string, Replica[]>, name: string, replica: Replica): void {
  const list = lists.get(name)
  if (!list) return
  list.splice(list.indexOf(replica), 1)
  if (list.length === 0) lists.delete(name)
}

function addTo(lists: Map<string, Replica[]>, name: string, replica: Replica): void {
  const list = lists.get(name)
  if (list) list.push(replica)
  else lists.set(name, [replica])
}

/** Mostly they are in order already, and there may be fifty thousand. */
function sortInPlace(replicas: Replica[]): void {
  for (let i = 1; i < replicas.length; i += 1) {
    if (inOrder(replicas[i - 1]!, replicas[i]!) <= 0) continue
    replicas.sort(inOrder)
    return
  }
}

function inOrder(a: Replica, b: Replica): number {
  return (
    compare(a.modelName, b.modelName) ||
    compare(a.nodeId, b.nodeId) ||
    a.replicaIndex - b.replicaIndex ||
    compare(a.id, b.id)
  )
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

/** As far as what is to run there goes. */
function isSameMember(a: Node | undefined, b: Node | undefined): boolean {
  if (!a || !b) return false
  if (a.approved !== b.approved || a.nodeType !== b.nodeType) return false
  if (a.desired !== b.desired || a.liveness !== b.liveness) return false
  return a.labels === b.labels || isSameLabels(a.labels, b.labels)
}

function isSameLabels(a: Node['labels'], b: Node['labels']): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key])
}
