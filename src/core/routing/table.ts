import type { Model, Node, Replica } from '../types.ts'

/** One replica that may serve, with all that a gateway needs to reach it. */
export interface Route {
  replicaId: string
  generation: number
  modelName: string
  nodeId: string
  nodeName: string
  /** The node's data port, as host:port. */
  address: string
}

/** Who may be sent requests: ready replicas of the current revision, on nodes that are approved, active and not offline. */
export function routableReplicas(
  models: readonly Model[],
  nodes: readonly Node[],
  replicas: readonly Replica[],
): Route[] {
  const revisions = new Map(models.map((model) => [model.name, model.revision]))
  const routable = new Map(nodes.filter(isRoutable).map((node) => [node.id, node]))
  const routes: Route[] = []
  for (const replica of replicas) {
    const node = routable.get(replica.nodeId)
    if (!node || replica.state !== 'ready' || replica.revision !== revisions.get(replica.modelName)) continue
    const { id: replicaId, generation, modelName } = replica
    routes.push({ replicaId, generation, modelName, nodeId: node.id, nodeName: node.name, address: node.address })
  }
  return routes
}

/** A node that missed a few heartbeats still serves: silence of the control plane is no reason to fail requests. */
function isRoutable(node: Node): boolean {
  return node.approved && node.desired === 'active' && node.liveness !== 'offline'
}
