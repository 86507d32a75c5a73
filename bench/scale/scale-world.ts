import type { Model, Node, Replica, Rule, World } from '../../src/core/types.ts'
import { bigFleet } from '../placement/big-fleet.ts'

const REPLICAS_PER_NODE = 10
const NODES_PER_MODEL = 10
const FEWEST_MODELS = 10

/** A cluster where every rule is met, ten replicas on each node. Ids are as long as real ones: most bytes are ids. */
export function scaleWorld(nodeCount: number): World {
  const fleet = bigFleet(nodeCount, REPLICAS_PER_NODE, Math.max(FEWEST_MODELS, nodeCount / NODES_PER_MODEL))
  const ids = new Map(fleet.nodes.map(({ id }, i) => [id, uuid(1, i)]))
  const nodes: Node[] = fleet.nodes.map((node) => ({ ...node, id: ids.get(node.id)! }))
  const replicas: Replica[] = fleet.replicas.map((one, i) => ({ ...one, id: uuid(2, i), nodeId: ids.get(one.nodeId)! }))
  const counts = Map.groupBy(replicas, ({ modelName }) => modelName)
  const rules = fleet.models.map((model) => aRule(model, counts.get(model.name)?.length ?? 0))
  return { nowMs: 1000, nodes, replicas, models: fleet.models, rules, demands: [], facts: [], learned: [] }
}

/** Looks like any other. */
function uuid(kind: number, i: number): string {
  const spread = Math.imul(i + 1, 0x9e3779b1) >>> 0
  return `${spread.toString(16).padStart(8, '0')}-000${kind}-4000-8000-${i.toString(16).padStart(12, '0')}`
}

function aRule({ name }: Model, minReplicas: number): Rule {
  return {
    modelName: name,
    nodeSelector: {},
    routePolicy: 'least_loaded',
    minReplicas,
    maxReplicas: 0,
    spreadAll: false,
    scaleToZeroAfterMs: null,
    source: 'api',
    unsatisfiableUntilMs: null,
    unsatisfiableTicks: 0,
  }
}
