import type { DecisionRecord } from '../../../src/api/decision-record.ts'

/** A request that the first of two replicas served. */
export function aDecision(fields: Partial<DecisionRecord> = {}): DecisionRecord {
  return {
    request_id: 'req-1',
    at: Date.now(),
    gateway: 'gateway-1',
    method: 'POST',
    path: '/v1/chat/completions',
    model: 'qwen',
    policy: 'least_loaded',
    key_id: null,
    candidates: [aCandidate(), aCandidate({ replica_id: 'r2', node_name: 'gpu-2', in_flight_here: 2 })],
    candidate_count: 2,
    tries: [{ replica_id: 'r1', node_name: 'gpu-1', outcome: 'served', status: 200, error: null, ms: 1200 }],
    queued_ms: 0,
    load_wait_ms: 0,
    status: 200,
    duration_ms: 1204,
    ...fields,
  }
}

export function aCandidate(
  fields: Partial<DecisionRecord['candidates'][number]> = {},
): DecisionRecord['candidates'][number] {
  return {
    replica_id: 'r1',
    node_name: 'gpu-1',
    in_flight_here: 0,
    in_flight_elsewhere: 0,
    idle_ms: null,
    available_vram: null,
    left_out: null,
    ...fields,
  }
}
