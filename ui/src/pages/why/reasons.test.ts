import { expect, test } from 'vitest'
import type { DecisionRecord } from '../../../../src/api/decision-record.ts'
import type { NodeExplanation } from '../../../../src/api/admin/explain-schemas.ts'
import type { ModelExplanation } from '../../../../src/api/admin/model-schemas.ts'
import { modelReasons } from './model-reasons.ts'
import { nodeReasons } from './node-reasons.ts'
import type { Reason } from './reason.ts'
import { requestReasons } from './request-reasons.ts'

const GIB = 1024 ** 3

/** All that a tree says, a line each, indented. */
function said(reasons: readonly Reason[], depth = 0): string[] {
  return reasons.flatMap(({ text, verdict, children = [] }) => [
    `${'  '.repeat(depth)}${text}${verdict ? ` [${verdict.text}]` : ''}`,
    ...said(children, depth + 1),
  ])
}

const refusal = {
  filter: 'vram',
  needed: 9 * GIB,
  available: 4 * GIB,
  where: 'GPU 0',
  text: 'needs 9.0 GB, 4.0 GB free',
}

test('of a model: what is wanted, where it is, why not elsewhere, what would help', () => {
  const why: ModelExplanation = {
    model_name: 'qwen',
    revision: 'r',
    status: { state: 'refused', loading: null, reason: 'no node has room', next_attempt_at: null },
    wanted: { min: 2, max: 0 },
    wanted_since: null,
    memory: [
      { device_kind: 'cuda', source: 'computed', vram: 9 * GIB, ram: GIB, share: null, parts: { kv_cache: GIB } },
    ],
    nodes: [
      {
        node_id: '1',
        node_name: 'thor',
        replicas: [
          {
            key: 'qwen#0',
            state: 'ready',
            is_current: true,
            in_flight: 3,
            claimed: 9 * GIB,
            measured: null,
            error: null,
          },
        ],
        refusal,
      },
    ],
    next: null,
    advice: ['stop llama on thor'],
    last_decision: null,
    last_load: null,
  }
  expect(said(modelReasons(why))).toEqual([
    'qwen [refused]',
    '  no node has room',
    'Its rule asks for at least 2, no upper limit.',
    'Where it is',
    '  thor',
    '    qwen#0 · 3 in flight · 9.0 GB claimed [ready]',
    'No node can take one more. [no room]',
    '  stop llama on thor',
    'What one replica takes',
    '  On cuda: 9.0 GB VRAM, 1.0 GB RAM (from its files)',
    '    kv cache: 1.0 GB',
    'Why not (one more) on 1 node',
    '  thor: needs 9.0 GB, 4.0 GB free',
  ])
})

test('of a model that has all that is asked for: that one more finds no room is no trouble', () => {
  const ready = {
    key: 'qwen#0',
    state: 'ready',
    is_current: true,
    in_flight: 0,
    claimed: GIB,
    measured: null,
    error: null,
  }
  const why: ModelExplanation = {
    model_name: 'qwen',
    revision: 'r',
    status: { state: 'ready', loading: null, reason: null, next_attempt_at: null },
    wanted: { min: 1, max: 1 },
    wanted_since: null,
    memory: [],
    nodes: [{ node_id: '1', node_name: 'thor', replicas: [ready], refusal }],
    next: null,
    advice: ['raise the slots of thor to 2'],
    last_decision: null,
    last_load: null,
  }
  expect(said(modelReasons(why))).toContain('It has all the replicas that are asked for. [met]')
  expect(said(modelReasons(why)).join()).not.toContain('[no room]')
  expect(said(modelReasons({ ...why, wanted: { min: 2, max: 2 } }))).toContain('No node can take one more. [no room]')
})

test('of a node: its state, its room, what it would take and what not', () => {
  const why: NodeExplanation = {
    node_id: '1',
    node_name: 'thor',
    status: 'draining',
    text: ['thor takes nothing new', 'an admin drains it'],
    ram: { total: 8 * GIB, used: 2 * GIB, claimed: GIB, free: 5 * GIB },
    devices: [],
    models: [
      { model_name: 'a', replicas: [{ key: 'a#0', state: 'ready' }], refusal: null },
      { model_name: 'b', replicas: [], refusal },
    ],
  }
  expect(said(nodeReasons(why))).toEqual([
    'thor takes nothing new [draining]',
    '  an admin drains it',
    'What it has left',
    '  RAM: 5.0 GB free of 8.0 GB · 2.0 GB in use · 1.0 GB reserved',
    'Models that it would take (1)',
    '  a',
    '    a#0 is ready here',
    'Models that it would not take (1)',
    '  b',
    '    needs 9.0 GB, 4.0 GB free',
  ])
})

test('of a request: each try with its outcome, and who else could have had it', () => {
  const record: DecisionRecord = {
    request_id: 'r',
    at: 0,
    gateway: 'g',
    method: 'POST',
    path: '/v1/chat/completions',
    model: 'qwen',
    policy: 'least_loaded',
    key_id: null,
    candidates: [
      {
        replica_id: 'x',
        node_name: 'thor',
        in_flight_here: 1,
        in_flight_elsewhere: 2,
        idle_ms: 4000,
        available_vram: null,
        left_out: 'ejected',
      },
    ],
    candidate_count: 3,
    tries: [{ replica_id: 'x', node_name: 'thor', outcome: 'refused', status: 503, error: 'model not loaded', ms: 12 }],
    queued_ms: 0,
    load_wait_ms: 0,
    status: 503,
    duration_ms: 15,
  }
  expect(said(requestReasons(record)).slice(1)).toEqual([
    '  Model qwen',
    '  Gateway g',
    '  No key was needed.',
    'Tries (1)',
    '  thor, replica x: 12 ms, answered 503 [refused]',
    '    model not loaded',
    'Candidates (3): fewest requests in flight, then unused for longest, then most free VRAM',
    '  thor · 3 in flight · idle for 4s [left out: ejected]',
    '  and 2 further ones',
  ])
})
