import type { HeartbeatMessage, ReportedEngineMessage, ReportedReplicaMessage } from '../../src/api/bus/messages.ts'
import type { Device, Hardware } from '../../src/api/hardware.ts'
import type { StoredReplica } from '../../src/store/nouns/replicas.ts'
import type { Step } from '../../src/core/reconcile/plan.ts'
import type { Claim, Model, ModelHeader, Node, NodeEngine, Replica, Rule, World } from '../../src/core/types.ts'

/** Things with defaults, so that a test mentions only what matters to it. */

const GIB = 2 ** 30

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
    isHeard: true,
    nodeType: 'backend',
    maxReplicasPerModel: 1,
    labels: {},
    availableVram: null,
    devices: [],
    vramBudget: null,
    totalRam: null,
    availableRam: null,
    totalDisk: null,
    availableDisk: null,
    freed: [],
    engines: { sim: aNodeEngine() },
    ...fields,
  }
}

/** An engine that can run and takes next to nothing. */
export function aNodeEngine(fields: Partial<NodeEngine> = {}): NodeEngine {
  return { whyNot: null, version: null, memory: 'on_load', uses: { device: 'cpu', bytes: 0 }, ...fields }
}

export function aModel(fields: Partial<Model> = {}): Model {
  return {
    name: 'm',
    engine: 'sim',
    source: null,
    options: {},
    memory: null,
    antiAffinity: null,
    revision: 'r1',
    ...fields,
  }
}

export function aRule(fields: Partial<Rule> = {}): Rule {
  return {
    modelName: 'm',
    nodeSelector: {},
    routePolicy: 'least_loaded',
    minReplicas: 1,
    maxReplicas: 0,
    spreadAll: false,
    scaleToZeroAfterMs: null,
    source: 'api',
    unsatisfiableUntilMs: null,
    unsatisfiableTicks: 0,
    ...fields,
  }
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
    claim: null,
    measured: null,
    inFlight: 0,
    lastUsedMs: null,
    readySinceMs: null,
    outOfMemory: false,
    ...fields,
  }
}

/** With what only the store knows of it. */
export function aStoredReplica(fields: Partial<StoredReplica> = {}): StoredReplica {
  return { ...aReplica(fields), progress: null, lastExit: null, createdMs: 0, ...fields }
}

export function aClaim(fields: Partial<Claim> = {}): Claim {
  return { devices: [], ram: 0, disk: 0, source: 'explicit', alone: false, ...fields }
}

/** The step of a plan that starts the first replica. */
export function aReserve(): Extract<Step, { kind: 'reserve' }> {
  const where = { modelName: 'm', nodeId: 'n1', replicaIndex: 0 }
  return { kind: 'reserve', ...where, generation: 1, revision: 'r1', failures: 0, claim: aClaim() }
}

/** A small model of the plainest kind: four layers that all look back to the beginning. */
export function aHeader(fields: Partial<ModelHeader> = {}): ModelHeader {
  return {
    format: 'gguf',
    architecture: 'llama',
    quantisation: 'Q4_K_M',
    weightsBytes: 4_000_000,
    hostBytes: 500_000,
    projectorBytes: 0,
    layers: 4,
    embedding: 256,
    vocabulary: 4096,
    context: 2048,
    keyElements: [128, 128, 128, 128],
    valueElements: [128, 128, 128, 128],
    slidingWindow: null,
    stateBytes: 0,
    ...fields,
  }
}

export function aWorld(fields: Partial<World> = {}): World {
  return {
    nowMs: 1000,
    nodes: [],
    models: [aModel()],
    rules: [aRule()],
    replicas: [],
    demands: [],
    facts: [],
    learned: [],
    ...fields,
  }
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
    memory: 'on_load',
    uses: { device: 'cpu', bytes: 0 },
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
    memory: null,
    idle_ms: null,
    out_of_memory: false,
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
  return {
    gpu_vendor: null,
    devices: [],
    total_ram: 8 * GIB,
    available_ram: 6 * GIB,
    total_disk: 100 * GIB,
    available_disk: 80 * GIB,
    ...fields,
  }
}
