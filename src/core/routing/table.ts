import { isInUse } from '../nodes/availability.ts'
import { mismatchOf } from '../nodes/selector.ts'
import type { Model, Node, Replica, Rule } from '../types.ts'

/** One replica that may serve, with all that a gateway needs to reach it. */
export interface Route {
  replicaId: string
  generation: number
  modelName: string
  nodeId: string
  nodeName: string
  /** The node's data port, as host:port. */
  address: string
  /** Free VRAM of the node when it last said; null when it has none or has not said. */
  availableVram: number | null
}

/**
 * The replicas that gateways may send requests to: ready, of the current revision, on nodes that are approved, active and
 * not offline and have every label that the model's rule asks for.
 */
export function routableReplicas(
  models: readonly Model[],
  nodes: readonly Node[],
  replicas: readonly Replica[],
  rules: readonly Rule[],
): Route[] {
  const revisions = new Map(models.map((model) => [model.name, model.revision]))
  const selectors = new Map(rules.map((rule) => [rule.modelName, rule.nodeSelector]))
  const routable = new Map(nodes.filter(isInUse).map((node) => [node.id, node]))
  const routes: Route[] = []
  for (const replica of replicas) {
    const node = routable.get(replica.nodeId)
    if (!node || replica.state !== 'ready' || replica.revision !== revisions.get(replica.modelName)) continue
    if (mismatchOf(selectors.get(replica.modelName) ?? {}, node.labels)) continue
    routes.push(routeTo(replica, node))
  }
  return routes
}

function routeTo({ id: replicaId, generation, modelName }: Replica, node: Node): Route {
  const { id: nodeId, name: nodeName, address, availableVram } = node
  return { replicaId, generation, modelName, nodeId, nodeName, address, availableVram }
}
