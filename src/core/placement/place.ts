import type { Node, Replica, Rule } from '../types.ts'
import { mismatchOf } from './selector.ts'

export interface Need {
  modelName: string
  engine: string
  /** Labels that the node must have, all of them. */
  selector: Rule['nodeSelector']
  /** Nodes where this model failed to start lately, and how long they are left alone: not taken while others are there. */
  failing?: ReadonlyMap<string, string>
}

/** One node's reason for not taking a replica, as data. */
export interface Refusal {
  nodeId: string
  nodeName: string
  filter: 'approved' | 'backend' | 'active' | 'online' | 'selector' | 'engine' | 'slot' | 'failing'
  needed: string | number
  available: string | number
}

export type Placement =
  | { ok: true; nodeId: string; replicaIndex: number; refusals: Refusal[] }
  | { ok: false; refusals: Refusal[] }

/**
 * Picks the node with the fewest replicas, so that load spreads; equal nodes are taken in order of name, so that the
 * same world gives the same answer. The lowest free index of the node is taken.
 */
export function place(need: Need, nodes: readonly Node[], replicas: readonly Replica[]): Placement {
  const refusals: Refusal[] = []
  let best: { node: Node; load: number; replicaIndex: number } | undefined
  for (const node of nodes) {
    const here = replicas.filter((replica) => replica.nodeId === node.id)
    const replicaIndex = lowestFreeIndex(need.modelName, here)
    const refusal = refuse(node, need, replicaIndex)
    if (refusal) refusals.push(refusal)
    else if (!best || isBetter({ node, load: here.length }, best)) best = { node, load: here.length, replicaIndex }
  }
  if (!best) return { ok: false, refusals }
  return { ok: true, nodeId: best.node.id, replicaIndex: best.replicaIndex, refusals }
}

function isBetter(a: { node: Node; load: number }, b: { node: Node; load: number }): boolean {
  return a.load === b.load ? a.node.name < b.node.name : a.load < b.load
}

function refuse(node: Node, { engine, selector, failing: lately }: Need, replicaIndex: number): Refusal | undefined {
  const refusal = (filter: Refusal['filter'], needed: string | number, available: string | number): Refusal => ({
    nodeId: node.id,
    nodeName: node.name,
    filter,
    needed,
    available,
  })
  if (!node.approved) return refusal('approved', 'approved', 'pending')
  if (node.nodeType !== 'backend') return refusal('backend', 'backend', node.nodeType)
  if (node.desired !== 'active') return refusal('active', 'active', node.desired)
  if (node.liveness !== 'online') return refusal('online', 'online', node.liveness)
  const mismatch = mismatchOf(selector, node.labels)
  if (mismatch) return refusal('selector', mismatch.needed, mismatch.available)
  const whyNot = Object.hasOwn(node.engines, engine) ? node.engines[engine]! : 'the node has no such engine'
  if (whyNot !== null) return refusal('engine', engine, whyNot)
  const failing = lately?.get(node.id)
  if (failing !== undefined) return refusal('failing', 'a start that succeeds', failing)
  if (replicaIndex >= node.maxReplicasPerModel) return refusal('slot', replicaIndex + 1, node.maxReplicasPerModel)
  return undefined
}

function lowestFreeIndex(modelName: string, replicasOfNode: readonly Replica[]): number {
  const taken = new Set<number>()
  for (const replica of replicasOfNode) if (replica.modelName === modelName) taken.add(replica.replicaIndex)
  let index = 0
  while (taken.has(index)) index += 1
  return index
}
