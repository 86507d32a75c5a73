import { describe, expect, test } from 'vitest'
import { loadStatus, type LoadStatus } from '../../api/load-status.ts'
import type { Claim, Node, Replica } from '../types.ts'
import type { StoredReplica } from '../../store/nouns/replicas.ts'
import type { StoredWorld } from '../../store/world/world.ts'
import { aClaim, aModel, aNode, aNodeEngine, aRule, aStoredReplica, aWorld } from '../../../test/support/builders.ts'
import { loadStatusOf } from './load-status.ts'

const GIB = 2 ** 30
const NOW = 1_000_000
const demand = { modelName: 'm', sinceMs: NOW - 1000, wantedUntilMs: NOW + 30_000 }

/** Model `m`, no rule; somebody waits for it unless the test says otherwise. */
function status(fields: Partial<StoredWorld> = {}, nodes = [aNode({ id: 'n1', name: 'thor' })]): LoadStatus {
  const stored = { createdMs: 0, updatedMs: 0, lastHeartbeatMs: NOW }
  const world = aWorld({ nowMs: NOW, rules: [], demands: [demand], nodes, ...fields }) as StoredWorld
  const models = world.models.map((model) => ({ ...stored, ...model }))
  const answer = loadStatusOf({ ...world, models }, 'm', 'spread')
  expect(loadStatus.parse(answer)).toEqual(answer)
  return answer
}

function aFailed(fields: Partial<StoredReplica> = {}): StoredReplica {
  const error = 'The engine ended with code 1.\nCUDA error: out of memory'
  return aStoredReplica({ state: 'failed', error, failures: 1, retryAtMs: NOW + 8000, ...fields })
}

/** A machine with one GPU of 24 GiB on which models take 20 GiB. */
function aGpuNode(fields: Partial<Node> = {}): Node {
  return aNode({
    id: 'n1',
    name: 'thor',
    devices: [{ index: 0, name: 'gpu', totalVram: 24 * GIB, availableVram: 24 * GIB, unified: false }],
    engines: { sim: aNodeEngine({ uses: { device: 'gpu' } }) },
    ...fields,
  })
}

const large = { memory: { vram: 20 * GIB, ram: 0 } }
const claim: Claim = aClaim({ devices: [{ index: 0, bytes: 20 * GIB }] })
/** Holds the whole GPU, has served and has not been used for an hour. */
function anOccupant(fields: Partial<Replica> = {}): StoredReplica {
  const idle = { readySinceMs: NOW - 7_200_000, lastUsedMs: NOW - 3_600_000 }
  const measured = { devices: [{ index: 0, bytes: 20 * GIB }], ram: 0 }
  return aStoredReplica({ modelName: 'old', claim, measured, ...idle, ...fields })
}
const models = [aModel(large), aModel({ name: 'old', ...large })] as StoredWorld['models']
const full = [aGpuNode({ devices: [{ ...aGpuNode().devices[0]!, availableVram: 4 * GIB }] })]

describe('a model', () => {
  test('that is not there is unknown', () => {
    expect(status({ models: [] })).toEqual({
      state: 'unknown',
      loading: null,
      reason: 'There is no model "m".',
      next_attempt_at: null,
    })
  })

  test('is ready when one replica may be sent requests', () => {
    const ready = { state: 'ready', loading: null, reason: null, next_attempt_at: null }
    expect(status({ replicas: [aStoredReplica(), aFailed({ nodeId: 'n2' })] })).toEqual(ready)
    const nodes = [aNode({ id: 'n1', desired: 'draining' })]
    expect(status({ replicas: [aStoredReplica()] }, nodes).state).toBe('refused')
    expect(status({ replicas: [aStoredReplica({ revision: 'old' })], demands: [] }).state).not.toBe('ready')
  })

  test('that nobody asks for is stopped', () => {
    const reason = 'Nobody asks for it: its first request loads it.'
    expect(status({ demands: [] })).toMatchObject({ state: 'stopped', reason, loading: null })
    const over = { ...demand, wantedUntilMs: NOW - 1 }
    expect(status({ demands: [over], rules: [aRule({ minReplicas: 0 })] }).state).toBe('stopped')
  })

  test('that fits is about to be placed', () => {
    expect(status()).toEqual({
      state: 'waiting',
      loading: {
        model: 'm',
        state: 'waiting',
        node: null,
        progress: 0,
        bytes_sent: 0,
        total_bytes: 0,
        file_index: 0,
        total_files: 0,
      },
      reason: 'It is placed on thor now.',
      next_attempt_at: null,
    })
    expect(status({ demands: [], rules: [aRule({ minReplicas: 1 })] }).state).toBe('waiting')
  })
})

describe('a load', () => {
  const progress = {
    file: 'b.gguf',
    done_bytes: 999,
    total_bytes: 2000,
    bytes_per_s: 100,
    file_index: 2,
    total_files: 3,
  }

  test('is told by the replica that has come furthest, with what is left', () => {
    const replicas = [
      aStoredReplica({ state: 'reserved', replicaIndex: 0 }),
      aStoredReplica({ state: 'staging', replicaIndex: 1, nodeId: 'n2', progress }),
      aStoredReplica({ state: 'staging', replicaIndex: 2, progress: { ...progress, done_bytes: 10 } }),
    ]
    const nodes = [aNode({ id: 'n1' }), aNode({ id: 'n2', name: 'loki' })]
    expect(status({ replicas }, nodes)).toEqual({
      state: 'loading',
      loading: {
        model: 'm',
        state: 'staging',
        node: 'loki',
        progress: 49,
        bytes_sent: 999,
        total_bytes: 2000,
        file_index: 2,
        total_files: 3,
        eta_seconds: 11,
      },
      reason: null,
      next_attempt_at: null,
    })
  })

  test.each([
    ['nobody knows the rate', 'staging', { bytes_per_s: null }],
    ['nothing moves', 'staging', { bytes_per_s: 0 }],
    ['nobody knows how much there is', 'staging', { total_bytes: null }],
    ['the engine is being installed', 'installing', {}],
  ] as const)('has no end to tell while %s', (_, state, fields) => {
    const { loading } = status({ replicas: [aStoredReplica({ state, progress: { ...progress, ...fields } })] })
    expect(loading).not.toHaveProperty('eta_seconds')
    expect(loading).toMatchObject({ state, bytes_sent: 999 })
  })

  test('has all its bytes once the engine reads them', () => {
    const facts = [{ modelName: 'm', revision: 'r1', payloadBytes: 2000, header: null, problem: null, retryAtMs: null }]
    const { loading } = status({ replicas: [aStoredReplica({ state: 'loading' })], facts })
    expect(loading).toMatchObject({ state: 'loading', progress: 100, bytes_sent: 2000, total_bytes: 2000 })
    expect(status({ replicas: [aStoredReplica({ state: 'loading' })] }).loading).toMatchObject({ progress: 0 })
  })

  test('of an old revision, or where it will serve nobody, is none', () => {
    const starting = aStoredReplica({ state: 'loading' })
    expect(status({ replicas: [{ ...starting, revision: 'old' }] }).state).not.toBe('loading')
    for (const away of [{ desired: 'draining' }, { liveness: 'offline' }] as const) {
      expect(status({ replicas: [starting] }, [aNode({ id: 'n1', ...away })]).state).not.toBe('loading')
    }
    const rules = [aRule({ nodeSelector: { tier: 'gpu' } })]
    expect(status({ replicas: [starting], rules }).state).not.toBe('loading')
  })
})

describe('a model that waits', () => {
  test('for idle replicas that are stopped for it', () => {
    expect(status({ models, replicas: [anOccupant()] }, full)).toMatchObject({
      state: 'waiting',
      reason: 'It waits for room on thor: old#0 must have ended first.',
    })
  })

  test('for what is ending already', () => {
    expect(status({ models, replicas: [anOccupant({ state: 'draining', inFlight: 1 })] }, full)).toMatchObject({
      state: 'waiting',
      reason: 'It waits for room on thor: old#0 must have ended first.',
    })
  })

  test('for room that what has just ended leaves, once the memory was read again', () => {
    const freed = [{ replicaId: 'gone', devices: claim.devices, ram: 0 }]
    expect(status({ models }, [{ ...full[0]!, freed }])).toMatchObject({
      state: 'waiting',
      reason: 'It waits for the next reading of the memory of thor: what ended there has just made room.',
    })
  })

  test('for replicas that are in use', () => {
    const { state, reason } = status({ models, replicas: [anOccupant({ inFlight: 3 })] }, full)
    expect({ state, reason }).toEqual({
      state: 'waiting',
      reason: 'It waits for room: other models are in use, or were loaded only just now.',
    })
  })
})

describe('a model that no node can take', () => {
  test('says what the closest nodes lack, with numbers, and what would help', () => {
    const rules = [aRule({ modelName: 'old', minReplicas: 1 })]
    const nodes = [
      ...full,
      aGpuNode({ id: 'n2', name: 'loki', desired: 'draining' }),
      aGpuNode({ id: 'n3', name: 'odin', desired: 'draining' }),
    ]
    const { state, reason, next_attempt_at: next } = status({ models, rules, replicas: [anOccupant()] }, nodes)
    expect({ state, next }).toEqual({ state: 'refused', next: null })
    expect(reason).toBe(
      'No node can take it: thor needs 20.0 GiB on gpu 0, 4.0 GiB are free; loki is draining, and 1 more like it. ' +
        'What would help: resume loki.',
    )
  })

  const ruled = { models, rules: [aRule({ modelName: 'old', minReplicas: 1 })], replicas: [anOccupant()] }
  const huge = { models: [aModel({ memory: { vram: 200 * GIB, ram: 0 } })] as StoredWorld['models'] }
  const someFacts = {
    modelName: 'm',
    revision: aModel().revision,
    payloadBytes: GIB,
    header: null,
    problem: null,
    retryAtMs: null,
  }
  const selected = { rules: [aRule({ nodeSelector: { tier: 'fast' } })] }

  test.each<[string, Partial<StoredWorld>, Node[]]>([
    ['which no card is large enough for', huge, [aGpuNode()]],
    ['which no node has the label for', selected, [aNode()]],
    ['which no node has the engine for', {}, [aNode({ engines: {} })]],
    ['whose room a rule keeps for another', ruled, full],
    ['whose only node waits for approval', {}, [aNode({ approved: false })]],
    ['which is too large for a node that is away, too', huge, [aGpuNode({ liveness: 'offline' })]],
  ])('%s: no waiting helps', (_, fields, nodes) => {
    expect(status(fields, nodes)).toMatchObject({ state: 'refused', is_final: true })
  })

  test.each<[string, Partial<StoredWorld>, Node[]]>([
    ['whose node is away', {}, [aNode({ liveness: 'offline' })]],
    ['whose node is emptied for now', {}, [aNode({ desired: 'draining' })]],
    ['whose room another program takes', { models }, full],
    ['for which the disk is full', { facts: [someFacts] }, [aNode({ availableDisk: 0 })]],
    [
      'of which one of two nodes may come back',
      selected,
      [aNode({ labels: { tier: 'fast' }, liveness: 'offline' }), aNode({ id: 'n2' })],
    ],
    ['before there is any node', {}, []],
  ])('%s: waiting may help', (_, fields, nodes) => {
    const found = status(fields, nodes)
    expect([found.state, found.is_final]).toEqual(['refused', undefined])
  })

  test('without any node says how to get one', () => {
    expect(status({}, [])).toMatchObject({
      state: 'refused',
      reason: 'There are no nodes: "flotilla token" shows how a machine joins.',
    })
  })
})

describe('a model that could not be started', () => {
  const said = 'The engine ended with code 1. It said last: CUDA error: out of memory.'
  const told = `It could not be started on thor: ${said}`

  test('has failed when no other node is left, and says when it is tried again', () => {
    expect(status({ replicas: [aFailed()] })).toEqual({
      state: 'failed',
      loading: null,
      reason: `${told} "flotilla logs m#0" shows more.`,
      next_attempt_at: NOW + 8000,
    })
  })

  test('also says why the others are no help', () => {
    const nodes = [aNode({ id: 'n1', name: 'thor' }), aNode({ id: 'n2', name: 'loki', approved: false })]
    expect(status({ replicas: [aFailed()] }, nodes).reason).toBe(
      `${told} "flotilla logs m#0" shows more. No node can take it: loki waits for approval. What would help: approve loki.`,
    )
  })

  test('is not failed while another node can take it', () => {
    const nodes = [aNode({ id: 'n1', name: 'thor' }), aNode({ id: 'n2', name: 'loki' })]
    const { state, reason } = status({ replicas: [aFailed()] }, nodes)
    expect({ state, reason }).toEqual({ state: 'waiting', reason: `${told} It is placed on loki now.` })
  })

  test('is tried again when its wait is over', () => {
    const { state, reason } = status({ replicas: [aFailed({ retryAtMs: NOW - 1 })] })
    expect({ state, reason }).toEqual({ state: 'waiting', reason: `${told} It is placed on thor now.` })
  })

  test('and that nobody asks for is left alone, until somebody does', () => {
    const waits = status({ demands: [], replicas: [aFailed()] })
    expect(waits).toMatchObject({ state: 'failed', next_attempt_at: null })
    const over = status({ demands: [], replicas: [aFailed({ retryAtMs: NOW - 1 })] })
    expect(over).toMatchObject({ state: 'stopped', reason: `${told} Its next request tries it again.` })
  })

  test('the newest failure is told, whatever the engine wrote', () => {
    const replicas = [
      aFailed({ generation: 1 }),
      aFailed({ nodeId: 'n2', generation: 2, error: `  ${'x'.repeat(9000)}`, retryAtMs: NOW + 100 }),
    ]
    const nodes = [aNode({ id: 'n1' }), aNode({ id: 'n2', name: 'loki' })]
    const { reason, next_attempt_at: next } = status({ replicas }, nodes)
    expect(reason).toMatch(/^It could not be started on loki: x{500}\. "flotilla logs m#0"/)
    expect(next).toBe(NOW + 100)
    expect(status({ replicas: [aFailed({ error: null })] }).reason).toContain('on thor: it does not say why.')
  })
})
