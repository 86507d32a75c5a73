import type { Model, Node, Replica } from '../../src/core/types.ts'

/** A fleet of many machines with eight cards each, where every model has a few replicas and most cards are half full. */

const GIB = 2 ** 30
const DEVICES = 8
const DEVICE_GIB = 80

export interface BigFleet {
  nodes: Node[]
  replicas: Replica[]
  models: Model[]
}

export function bigFleet(nodeCount: number, replicasPerNode: number, modelCount = 200): BigFleet {
  const models = Array.from({ length: modelCount }, (_, i) => aModel(`model${i}`, 10))
  const nodes = Array.from({ length: nodeCount }, (_, i) => aNode(i))
  const replicas = nodes.flatMap((node, i) =>
    Array.from({ length: replicasPerNode }, (_, j) => aReplica(node, models[(i * 7 + j) % models.length]!, j)),
  )
  return { nodes, replicas, models }
}

export function aModel(name: string, vramGib: number): Model {
  const memory = { vram: vramGib * GIB, ram: GIB }
  return { name, engine: 'llama.cpp', source: null, options: {}, memory, antiAffinity: null, revision: 'r1' }
}

/** Cards differ in what is free, so that no two nodes are equal. */
function aNode(i: number): Node {
  const availableVram = (60 + (i % 19)) * GIB
  return {
    id: `id${i}`,
    name: `node${String(i).padStart(5, '0')}`,
    address: '127.0.0.1:9',
    approved: true,
    desired: 'active',
    liveness: 'online',
    livenessSinceMs: 0,
    bootId: 'b',
    saidGoodbye: false,
    isHeard: true,
    nodeType: 'backend',
    maxReplicasPerModel: 1,
    labels: { tier: i % 2 === 0 ? 'even' : 'odd' },
    availableVram: null,
    devices: Array.from({ length: DEVICES }, (_, index) => ({
      index,
      name: 'a card',
      totalVram: DEVICE_GIB * GIB,
      availableVram,
      unified: false,
    })),
    vramBudget: null,
    totalRam: 512 * GIB,
    availableRam: 400 * GIB,
    totalDisk: 4000 * GIB,
    availableDisk: 3000 * GIB,
    freed: [],
    engines: { 'llama.cpp': { whyNot: null, version: '1', memory: 'on_load', uses: { device: 'either' } } },
  }
}

function aReplica(node: Node, model: Model, index: number): Replica {
  const bytes = 10 * GIB
  return {
    id: `${node.id}/${model.name}`,
    nodeId: node.id,
    modelName: model.name,
    replicaIndex: 0,
    generation: 1,
    revision: 'r1',
    state: 'ready',
    error: null,
    failures: 0,
    retryAtMs: null,
    knownFromSeq: 1,
    claim: { devices: [{ index: index % DEVICES, bytes }], ram: GIB, disk: 0, source: 'explicit', alone: false },
    measured: { devices: [{ index: index % DEVICES, bytes: bytes - GIB }], ram: GIB },
    inFlight: 0,
    lastUsedMs: 0,
    readySinceMs: 0,
    outOfMemory: false,
  }
}
