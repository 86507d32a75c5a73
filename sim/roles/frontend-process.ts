import type { NodeRegistration, Registered } from '../../src/api/admin/schemas.ts'
import { RUN_HEADER } from '../../src/api/node-run.ts'
import { capAnswers } from '../../src/control/api/nouns/nodes/node-limits.ts'
import type { AdminDeps } from '../../src/control/api/deps.ts'
import { labelAnswers } from '../../src/control/api/nouns/nodes/labels.ts'
import { lossAnswers } from '../../src/control/api/nouns/nodes/accept-loss.ts'
import { modelAnswers } from '../../src/control/api/nouns/models/models.ts'
import { nodeSelfAnswers } from '../../src/control/api/nouns/nodes/node-self.ts'
import { nodeAnswers } from '../../src/control/api/nouns/nodes/nodes.ts'
import { ruleAnswers } from '../../src/control/api/nouns/rules.ts'
import type { ProbeRun } from '../../src/control/joining/node-runs.ts'
import { registerNode } from '../../src/control/joining/register-node.ts'
import { RoutingFeed } from '../../src/control/routing/routing-feed.ts'
import type { Control } from '../../src/control/control-deps.ts'
import { startControl } from '../../src/control/start-control.ts'
import type { Decide } from '../../src/control/turn/turn.ts'
import { checkPlan } from '../../src/core/reconcile/check-plan.ts'
import { reconcile } from '../../src/core/reconcile/reconcile.ts'
import { AppError } from '../../src/platform/errors.ts'
import type { StoredWorld } from '../../src/store/world/world.ts'
import type { Cluster } from '../cluster.ts'
import { SimProcess } from '../ground/sim-process.ts'
import { simLog } from '../ground/sim-log.ts'

const CLUSTER_SECRET = 'simulated'
const CLUSTER_ID = 'simulated'

/** One run of a frontend: the real control, and the real handlers of what admins and nodes ask of it. */
export class FrontendProcess {
  readonly process: SimProcess
  readonly control: Control
  readonly admin: ReturnType<typeof adminOf>
  readonly #deps: AdminDeps
  readonly #cluster: Cluster

  constructor(cluster: Cluster, name: string) {
    const { queue, exchange, store, hooks, trace, settings } = cluster
    this.#cluster = cluster
    this.process = new SimProcess(name, 'control', queue)
    const { process } = this
    const { clock } = process
    const bus = exchange.connect(process, name)
    const seenBus = hooks.bus?.(bus, process) ?? bus
    const db = store.databaseOf(process)
    const log = simLog(trace, name)
    const real: Decide = { reconcile, checkPlan }
    const decide = hooks.decide?.(real) ?? real
    this.control = startControl({
      db,
      bus: seenBus,
      clock,
      log,
      owner: name,
      clusterSecret: CLUSTER_SECRET,
      clusterId: CLUSTER_ID,
      adminKey: () => 'admin',
      liveness: settings.liveness,
      events: { wake: () => {} },
      placement: settings.policy,
      pace: settings.pace,
      modelsFolder: '/nowhere',
      hub: {} as never,
      parts: {
        decide: {
          checkPlan: decide.checkPlan,
          reconcile: (world, policy, memory) => {
            const plan = decide.reconcile(world, policy, memory)
            cluster.planned(name, { before: world, plan })
            return plan
          },
        },
        probe: (replica) => cluster.dataPath.probeReplica(process, replica),
        newFeed: (...made) => newFeed(new RoutingFeed(...made), hooks.routedWorld),
      },
    })
    this.#deps = {
      db,
      bus: seenBus,
      events: { wake: () => {} },
      log,
      clock,
      clusterSecret: CLUSTER_SECRET,
      clusterId: CLUSTER_ID,
      heartbeatPeriodMs: settings.heartbeatPeriodMs,
      autoApprove: false,
      approves: () => false,
      credentialsFor: () => ({ bus_url: 'sim', bus_jwt: null }),
      onNodeApproved: (_key: string, id: string) => exchange.allow(id),
      onNodeRemoved: (id: string) => exchange.remove(id),
      placement: settings.policy,
      onChange: () => this.control.wake(),
    } as unknown as AdminDeps
    this.admin = adminOf(this.#deps)
  }

  async register(registration: NodeRegistration, run: string): Promise<Registered> {
    if (this.#cluster.areFrontendsEmpty) throw new AppError('other_cluster', 'This is another cluster.')
    const applicant = { token: this.#cluster.joinToken, request: callOf(run) as never }
    const probeRun: ProbeRun = ({ address }) => this.#cluster.dataPath.probeRun(this.process, address)
    const deps = { ...this.#deps, checkProof: () => {}, probeRun }
    return registerNode(deps, { registration, signature: '' }, applicant)
  }

  async credentials(nodeId: string, run: string): Promise<Registered> {
    if (this.#cluster.areFrontendsEmpty) throw new AppError('node_unknown', `There is no node "${nodeId}" here.`)
    return nodeSelfAnswers(this.#deps).nodeCredentials(undefined, params(nodeId), callerOf(run))
  }

  deregister(nodeId: string, bootId: string, run: string): Promise<unknown> {
    return nodeSelfAnswers(this.#deps).deregisterNode({ boot_id: bootId }, params(nodeId), callerOf(run))
  }
}

function params(id: string): Record<'id' | 'key' | 'name' | 'path', string> {
  return { id, key: '', name: '', path: '' }
}

const CALL = { socket: { remoteAddress: '10.0.0.1' }, headers: {} }
export const CALLER = { request: CALL, actor: 'admin' } as never
/** Means what it says of a model, whatever there is. */
export const REPLACER = {
  request: { ...CALL, url: '/api/models?replace=true&later=true' },
  actor: 'admin',
} as never

function callOf(run: string): object {
  return { ...CALL, headers: { [RUN_HEADER]: run } }
}

function callerOf(run: string): never {
  return { request: callOf(run), actor: 'admin' } as never
}

function adminOf(deps: AdminDeps) {
  return {
    ...nodeAnswers(deps),
    ...capAnswers(deps),
    ...labelAnswers(deps),
    ...ruleAnswers(deps),
    ...modelAnswers(deps),
    ...lossAnswers(deps),
  }
}

function newFeed(feed: RoutingFeed, change: ((world: StoredWorld) => StoredWorld) | undefined): RoutingFeed {
  if (!change) return feed
  const update = feed.update.bind(feed)
  feed.update = (world, keys) => update(change(world), keys)
  return feed
}
