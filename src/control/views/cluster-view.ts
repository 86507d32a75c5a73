import type { ClusterView, Problem } from '../../api/admin/cluster-schemas.ts'
import { statusOf } from '../../core/nodes/status.ts'
import { explainModel } from '../../core/placement/explain.ts'
import type { PlacePolicy } from '../../core/placement/types.ts'
import { routableReplicas } from '../../core/routing/table.ts'
import type { RuleRow } from '../../store/nouns/rules.ts'
import type { StoredNode } from '../../store/nouns/nodes.ts'
import type { StoredReplica } from '../../store/nouns/replicas.ts'
import type { StoredWorld } from '../../store/world/world.ts'
import { modelState } from '../../core/explain/model-state.ts'
import { problemsOf, type Advise } from '../../core/explain/problems.ts'
import { ruleViewer } from './rule-view.ts'

/** Advice is computed for so many rules only: each search visits every node. */
const MOST_ADVISED = 20

/** The whole cluster as one screen shows it. */
export function viewCluster(
  world: StoredWorld,
  rows: readonly RuleRow[],
  policy: PlacePolicy,
  standing: readonly Problem[],
): ClusterView {
  const rules = rows.map(ruleViewer(world))
  const onNode = Map.groupBy(world.replicas, ({ nodeId }) => nodeId)
  return {
    nodes: world.nodes.map((node) => viewNode(node, onNode.get(node.id) ?? [])),
    models: viewModels(
      world,
      rules.map(({ model_name: name, wanted }) => [name, wanted]),
    ),
    problems: problemsOf(world, rules, adviseFew(policy), standing),
  }
}

function adviseFew(policy: PlacePolicy): Advise {
  let left = MOST_ADVISED
  return (world, modelName) => {
    left -= 1
    return left < 0 ? null : (explainModel(world, modelName, policy)?.advice[0] ?? null)
  }
}

function viewNode(node: StoredNode, replicas: readonly StoredReplica[]): ClusterView['nodes'][number] {
  return {
    id: node.id,
    name: node.name,
    node_type: node.nodeType,
    status: statusOf(node),
    replica_count: replicas.length,
    in_flight_count: inFlight(replicas),
    total_vram: node.devices.reduce((sum, { totalVram }) => sum + totalVram, 0),
    available_vram: node.devices.length === 0 ? 0 : node.availableVram,
    total_ram: node.totalRam,
    available_ram: node.availableRam,
  }
}

/** Also those that only a rule asks for. */
function viewModels(world: StoredWorld, wanted: readonly [name: string, wanted: number][]): ClusterView['models'] {
  const models = new Map(world.models.map((model) => [model.name, model]))
  const rules = new Map(wanted)
  const replicas = Map.groupBy(world.replicas, ({ modelName }) => modelName)
  const routes = routableReplicas(world.models, world.nodes, world.replicas, world.rules)
  const served = Map.groupBy(routes, ({ modelName }) => modelName)
  return [...new Set([...models.keys(), ...rules.keys()])].toSorted().map((name) => {
    const model = models.get(name)
    const mine = replicas.get(name) ?? []
    const ready = served.get(name)?.length ?? 0
    return {
      name,
      state: model ? modelState(model, ready > 0, mine) : 'undefined',
      wanted: rules.get(name) ?? null,
      ready,
      replicas: mine.length,
      in_flight: inFlight(mine),
    }
  })
}

function inFlight(replicas: readonly StoredReplica[]): number {
  return replicas.reduce((sum, replica) => sum + replica.inFlight, 0)
}
