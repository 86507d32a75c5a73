import type { NodeView, ReplicaView } from '../../../../src/api/admin/schemas.ts'

/** For tests: a healthy node without a GPU, but for what is given. */
export function aNode(given: Partial<NodeView> = {}): NodeView {
  return {
    id: 'n1',
    name: 'ada',
    node_type: 'backend',
    status: 'healthy',
    approved: true,
    desired: 'active',
    liveness: 'online',
    liveness_since: 0,
    public_key: 'U',
    address: '127.0.0.1:9090',
    version: '0.1.0',
    labels: {},
    label_sources: {},
    max_replicas_per_model: 1,
    max_replicas_declared: 1,
    max_replicas_per_model_manually_set: false,
    above_cap: 0,
    vram_budget: null,
    vram_budget_bytes: null,
    vram_budget_declared: null,
    vram_budget_manually_set: false,
    vram_budget_left: null,
    gpu_vendor: null,
    devices: [],
    total_vram: 0,
    available_vram: 0,
    reserved_vram: 0,
    reserved_vram_by_device: [],
    reserved_ram: 0,
    total_ram: 64,
    available_ram: 32,
    total_disk: 100,
    available_disk: 50,
    model_count: 0,
    replica_count: 0,
    in_flight_count: 0,
    last_heartbeat: 1,
    registered_at: 0,
    ...given,
  }
}

/** For tests: a replica that serves, but for what is given. */
export function aReplica(given: Partial<ReplicaView> = {}): ReplicaView {
  return {
    id: 'r1',
    node_id: 'n1',
    model_name: 'llama',
    replica_index: 0,
    generation: 1,
    revision: 'abc',
    state: 'ready',
    in_flight: 0,
    progress: null,
    error: null,
    last_exit: null,
    claim: null,
    measured: null,
    last_used_at: null,
    ready_at: 0,
    ...given,
  }
}
