import type { Problem } from '../../../api/admin/cluster-schemas.ts'
import type { LiveModel, LiveTraffic } from '../../../api/admin/live-schemas.ts'
import type { RuleView } from '../../../api/admin/rule-schemas.ts'
import type { NodeView, ReplicaView } from '../../../api/admin/schemas.ts'
import type { StoredReplica } from '../../../store/nouns/replicas.ts'
import type { ViewedWorld } from '../../../store/world/viewed-world.ts'
import { modelViewer } from '../model-view.ts'
import { replicaViewer, viewNode } from '../node-view.ts'
import { problemsOf, type Advise } from '../../../core/explain/problems.ts'
import { ruleViewer } from '../rule-view.ts'

/** The whole cluster at one moment, as people look at it. */
export interface Picture {
  at: number
  nodes: NodeView[]
  replicas: ReplicaView[]
  models: LiveModel[]
  rules: RuleView[]
  problems: Problem[]
  traffic: LiveTraffic
  newestEvent: number
}

/** What gateways report, which is in no store. */
export interface Heard {
  inFlightOf(replica: Pick<StoredReplica, 'id' | 'state' | 'inFlight'>): number
  waitingFor(modelName: string): number
  traffic(): LiveTraffic
}

/** Draws it from what the store says and what gateways tell. Pure but for what `advise` remembers. */
export function drawPicture(viewed: ViewedWorld, heard: Heard, advise: Advise, standing: readonly Problem[]): Picture {
  // Workers tell of their requests with each heartbeat, gateways several times a second.
  const replicas = viewed.world.replicas.map((one) => withInFlight(one, heard.inFlightOf(one)))
  const world = { ...viewed.world, replicas }
  const rules = viewed.rules.map(ruleViewer(world))
  const onNode = Map.groupBy(replicas, ({ nodeId }) => nodeId)
  return {
    at: world.nowMs,
    nodes: viewed.nodes.map((row) =>
      viewNode(row, viewed.labels.get(row.id) ?? [], onNode.get(row.id) ?? [], world.models),
    ),
    replicas: viewOnce(replicas, replicaViewer(world.nodes, world.models)),
    models: drawModels({ ...viewed, world }, rules, heard),
    rules,
    problems: problemsOf(world, rules, advise, standing),
    traffic: heard.traffic(),
    newestEvent: viewed.newestEvent,
  }
}

/** What has not changed stays the same object, so that it need not be viewed and compared again. */
function withInFlight(replica: StoredReplica, inFlight: number): StoredReplica {
  return replica.inFlight === inFlight ? replica : { ...replica, inFlight }
}

const views = new WeakMap<StoredReplica, ReplicaView>()

function viewOnce(replicas: readonly StoredReplica[], see: (replica: StoredReplica) => ReplicaView): ReplicaView[] {
  return replicas.map((replica) => {
    let view = views.get(replica)
    if (!view) views.set(replica, (view = see(replica)))
    return view
  })
}

function drawModels({ world, loaded }: ViewedWorld, rules: readonly RuleView[], heard: Heard): LiveModel[] {
  const wanted = new Map(rules.map((rule) => [rule.model_name, rule.wanted]))
  const inFlight = new Map<string, number>()
  for (const one of world.replicas) inFlight.set(one.modelName, (inFlight.get(one.modelName) ?? 0) + one.inFlight)
  const view = modelViewer(world, loaded)
  return world.models.map((model) => ({
    ...view(model),
    wanted: wanted.get(model.name) ?? null,
    in_flight: inFlight.get(model.name) ?? 0,
    waiting: heard.waitingFor(model.name),
  }))
}
