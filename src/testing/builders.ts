import type { HeartbeatMessage, ReportedEngineMessage, ReportedReplicaMessage } from '../api/bus/messages.ts'
import type { Device, Hardware } from '../api/hardware.ts'
import type { Model, Node, Replica, Rule, World } from '../core/types.ts'

/** Things with defaults, so that a test mentions only what matters to it. */

let count = 0
const next = (prefix: string): string => `${prefix}${(count += 1)}`

export function aNode(fields: Partial<Node> = {}): Node {
  const id = fields.id ?? next('node')
  return {
    id,
    name: id,
    address: '127.0.0.1:9090',
    approved: true,
    desired: 'active',
    liveness: 'online',
    livenessSinceMs: 0,
    bootId: 'boot1',
    saidGoodbye: false,
    nodeType: 'backend',
    maxReplicasPerModel: 1,
    labels: {},
    availableVram: null,
    engines: { sim: null },
    ...fields,
  }
}

export function aModel(fields: Partial<Model> = {}): Model {
  return { name: 'm', engine: 'sim', source: null, options: {}, revision: 'r1', ...fields }
}

export function aRule(fields: Partial<Rule> = {}): Rule {
  return { modelName: 'm', nodeSelector: {}, routePolicy: 'least_loaded', minReplicas: 1, maxReplicas: 0, ...fields }
}

export function aReplica(fields: Partial<Replica> = {}): Replica {
  return {
    id: fields.id ?? next('replica'),
    nodeId: 'n1',
    modelName: 'm',
    replicaIndex: 0,
    generation: 1,
    revision: 'r1',
    state: 'ready',
    error: null,
    failures: 0,
    retryAtMs: null,
    knownFromSeq: 1,
    ...fields,
  }
}

export function aWorld(fields: Partial<World> = {}): World {
  return { nowMs: 1000, nodes: [], models: [aModel()], rules: [aRule()], replicas: [], ...fields }
}

/** An engine that can run, as a worker tells of it. */
export function anEngine(fields: Partial<ReportedEngineMessage> = {}): ReportedEngineMessage {
  return {
    name: 'sim',
    source: 'built-in',
    state: 'available',
    reason: null,
    version: null,
    serves: ['/v1/chat/completions'],
    operation: null,
    ...fields,
  }
}

/** A replica that serves, as a worker tells of it. */
export function aReport(fields: Partial<ReportedReplicaMessage> = {}): ReportedReplicaMessage {
  return {
    id: fields.id ?? next('replica'),
    model_name: 'm',
    replica_index: 0,
    generation: 1,
    state: 'ready',
    in_flight: 0,
    progress: null,
    exit: null,
    ...fields,
  }
}

/** A worker's first word: it has the simulated engine, and runs nothing. */
export function aHeartbeat(fields: Partial<HeartbeatMessage> = {}): HeartbeatMessage {
  return { boot_id: 'boot1', seq: 1, replicas: [], engines: [anEngine()], ...aMachine(), ...fields }
}

export function aDevice(fields: Partial<Device> = {}): Device {
  return { index: 0, uuid: 'GPU-1', name: 'a GPU', total_vram: 8, available_vram: 8, unified: false, ...fields }
}

/** The hardware of a small machine without a GPU. */
export function aMachine(fields: Partial<Hardware> = {}): Hardware {
  return { gpu_vendor: null, devices: [], total_ram: 2, available_ram: 1, total_disk: 4, available_disk: 3, ...fields }
}
