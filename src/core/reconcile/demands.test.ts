import { describe, expect, test } from 'vitest'
import { aClaim, aModel, aNode, aNodeEngine, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import type { Demand, Node, Replica } from '../types.ts'
import { reconcile } from './reconcile.ts'

const aDemand = (fields: Partial<Demand> = {}): Demand => ({ modelName: 'm', sinceMs: 0, wantedUntilMs: 0, ...fields })

/** A node with one GPU of 8 bytes, whose engine runs on it. */
const aGpuNode = (fields: Partial<Node> = {}): Node =>
  aNode({
    devices: [{ index: 0, name: 'gpu', totalVram: 8, availableVram: null, unified: false }],
    engines: { sim: aNodeEngine({ uses: { device: 'gpu' } }) },
    maxReplicasPerModel: 2,
    ...fields,
  })
const bytes = (vram: number) => ({ memory: { vram, ram: 0 } })
const holding = (vram: number) => ({ claim: aClaim({ devices: [{ index: 0, bytes: vram }] }) })

const nowMs = 1_000_000
const demands = [aDemand({ sinceMs: nowMs - 1000, wantedUntilMs: nowMs + 1000 })]
/** Long there, and long unused. */
const idle = (fields: Partial<Replica>): Replica =>
  aReplica({ nodeId: 'n1', readySinceMs: nowMs - 500_000, lastUsedMs: nowMs - 300_000, ...fields })

describe('a model that a client waits for', () => {
  const world = (fields = {}) =>
    aWorld({ nowMs, nodes: [aNode({ id: 'n1' }), aNode({ id: 'n2' })], rules: [], demands, ...fields })

  test('is loaded once', () => {
    expect(reconcile(world()).steps).toMatchObject([{ kind: 'reserve', modelName: 'm', nodeId: 'n1' }])
    expect(reconcile(world({ replicas: [aReplica({ nodeId: 'n1', state: 'loading' })] })).steps).toEqual([])
    expect(reconcile(world({ replicas: [aReplica({ nodeId: 'n1' })] })).steps).toEqual([])
  })

  test('is no longer loaded when no client waits any more', () => {
    expect(reconcile(world({ demands: [aDemand({ wantedUntilMs: nowMs })] })).steps).toEqual([])
  })

  test('is loaded elsewhere when its only replica is on a node that is emptied or gone', () => {
    const replicas = [aReplica({ nodeId: 'n1' })]
    const drained = [aNode({ id: 'n1', desired: 'draining' }), aNode({ id: 'n2' })]
    expect(reconcile(world({ replicas, nodes: drained })).steps).toMatchObject([{ kind: 'reserve', nodeId: 'n2' }])
    const offline = [aNode({ id: 'n1', liveness: 'offline' }), aNode({ id: 'n2' })]
    expect(reconcile(world({ replicas, nodes: offline })).steps).toMatchObject([
      { kind: 'forget', why: 'node offline' },
      { kind: 'reserve', nodeId: 'n2' },
    ])
  })

  test('waits for room that has not been read yet, and stops nothing for it meanwhile; then it plans anew', () => {
    const devices = [{ index: 0, name: 'gpu', totalVram: 8, availableVram: 0, unified: false }]
    const freed = [{ replicaId: 'gone', devices: [{ index: 0, bytes: 4 }], ram: 0 }]
    const models = [aModel(bytes(4)), aModel({ name: 'other', ...bytes(4) })]
    const other = idle({ id: 'other', modelName: 'other', ...holding(4) })
    const planOn = (fields: Partial<Node>) =>
      reconcile(world({ models, replicas: [other], nodes: [aGpuNode({ id: 'n1', devices, ...fields })] }))
    expect(planOn({ freed })).toMatchObject({ steps: [], waiting: [{ modelName: 'm', nodeId: 'n1', waitsFor: [] }] })
    // Another program has it now.
    expect(planOn({})).toMatchObject({ steps: [{ kind: 'evict', replica: { id: 'other' } }] })
    const read = [{ ...devices[0]!, availableVram: 4 }]
    expect(planOn({ devices: read })).toMatchObject({ steps: [{ kind: 'reserve', nodeId: 'n1' }] })
  })

  test('has its reasons when no node takes it', () => {
    const nodes = [aNode({ id: 'n1', desired: 'draining' })]
    expect(reconcile(world({ nodes })).unmet).toMatchObject([
      { modelName: 'm', missing: 1, refusals: [{ filter: 'active' }] },
    ])
  })

  test('that does not exist is not loaded', () => {
    expect(reconcile(world({ models: [] }))).toMatchObject({ steps: [], unmet: [] })
  })

  test('comes after what rules ask for, and the one that has waited longest comes first', () => {
    const models = ['a', 'b', 'c'].map((name) => aModel({ name, ...bytes(8) }))
    const asked = { nodes: [aGpuNode({ id: 'n1' }), aGpuNode({ id: 'n2' })], models }
    const waiting = [aDemand({ modelName: 'a', sinceMs: 2 }), aDemand({ modelName: 'b', sinceMs: 1 })].map(
      (demand) => ({
        ...demand,
        wantedUntilMs: nowMs + 1,
      }),
    )
    const plan = reconcile(aWorld({ nowMs, ...asked, demands: waiting, rules: [aRule({ modelName: 'c' })] }))
    expect(plan.steps.map((step) => step.kind === 'reserve' && step.modelName)).toEqual(['c', 'b'])
    expect(plan.unmet).toMatchObject([{ modelName: 'a', refusals: [{ filter: 'memory' }, { filter: 'memory' }] }])
  })
})

describe('room for it', () => {
  const models = [aModel({ ...bytes(8) }), aModel({ name: 'other', ...bytes(8) })]
  const world = (replicas: Replica[], fields = {}) =>
    aWorld({ nowMs, nodes: [aGpuNode({ id: 'n1' })], models, rules: [], demands, replicas, ...fields })
  const other = idle({ modelName: 'other', ...holding(8) })

  test('is made by stopping an idle replica of another model; it starts when that has gone', () => {
    const plan = reconcile(world([other]))
    expect(plan.steps).toEqual([{ kind: 'evict', replica: other, forModel: 'm' }])
    expect(plan.waiting).toMatchObject([{ modelName: 'm', waitsFor: [{ id: other.id }] }])
    const ending = reconcile(world([{ ...other, state: 'draining' }]))
    expect(ending).toMatchObject({ steps: [], unmet: [], waiting: [{ modelName: 'm' }] })
    expect(reconcile(world([])).steps).toMatchObject([{ kind: 'reserve', modelName: 'm' }])
  })

  test.each<[string, Partial<Replica>, object]>([
    ['is busy', { inFlight: 1 }, {}],
    ['has only just come', { readySinceMs: nowMs - 5000, lastUsedMs: null }, {}],
    [
      'is still starting',
      { state: 'loading', readySinceMs: null },
      { demands: [...demands, aDemand({ modelName: 'other', wantedUntilMs: nowMs + 1 })] },
    ],
  ])('is not made by stopping one that %s: it waits, and says so', (_, fields, more) => {
    expect(reconcile(world([{ ...other, ...fields }], more))).toMatchObject({
      steps: [],
      unmet: [{ modelName: 'm', isBusy: true, refusals: [{ filter: 'memory' }] }],
    })
  })

  test('is not made by stopping what a rule keeps running', () => {
    const plan = reconcile(world([other], { rules: [aRule({ modelName: 'other' })] }))
    expect(plan).toMatchObject({ steps: [], unmet: [{ modelName: 'm', isBusy: false }] })
  })

  test('a replica that is surplus and goes anyway does not make its sibling one too many', () => {
    const siblings = [0, 1].map((replicaIndex) => idle({ modelName: 'other', replicaIndex, ...holding(4) }))
    const rules = [aRule({ modelName: 'other', minReplicas: 1, maxReplicas: 1 })]
    const plan = reconcile(world(siblings, { rules, models: [models[0]!, aModel({ name: 'other', ...bytes(4) })] }))
    expect(plan.steps).toMatchObject([{ kind: 'stop', why: 'surplus', replica: { replicaIndex: 1 } }])
  })

  test('is not made while most nodes are gone together: nobody knows what is really lost', () => {
    const gone = ['n2', 'n3'].map((id) => aNode({ id, liveness: 'offline' }))
    const plan = reconcile(world([other], { nodes: [aGpuNode({ id: 'n1' }), ...gone] }))
    expect(plan.frozen).toHaveLength(2)
    expect(plan.steps).toEqual([])
  })

  test('that becomes free bit by bit is not given to others meanwhile', () => {
    const small = aModel({ name: 'small', revision: 'r2', ...bytes(4) })
    const nodes = [aGpuNode({ id: 'n1' }), aGpuNode({ id: 'n2' })]
    const halves = [idle({ modelName: 'other', state: 'draining', ...holding(4) })]
    // Of an old revision, somewhere else: to be replaced where there is room.
    const stale = [0, 1].map((replicaIndex) => idle({ nodeId: 'n2', modelName: 'small', replicaIndex, ...holding(4) }))
    const plan = reconcile(world([...halves, ...stale], { nodes, models: [...models, small] }))
    expect(plan.waiting).toMatchObject([{ modelName: 'm', waitsFor: [{ modelName: 'other' }] }, { modelName: 'small' }])
    expect(plan.steps).toMatchObject([{ kind: 'stop', why: 'old revision', replica: { nodeId: 'n2' } }])
  })

  test('is made on a node where the model failed before, when its wait is over and no other is left', () => {
    const failed = aReplica({ nodeId: 'n1', state: 'failed', failures: 2, retryAtMs: nowMs - 1 })
    expect(reconcile(world([failed, other])).steps).toEqual([{ kind: 'evict', replica: other, forModel: 'm' }])
    expect(reconcile(world([failed, { ...other, state: 'stopping' }])).steps).toEqual([])
    expect(reconcile(world([failed])).steps).toMatchObject([
      { kind: 'forget', why: 'failed' },
      { kind: 'reserve', failures: 2 },
    ])
    expect(reconcile(world([{ ...failed, retryAtMs: nowMs + 1 }, other])).steps).toEqual([])
  })

  test('that is missing there is said, not that it failed before, when its wait is over', () => {
    const failed = aReplica({ nodeId: 'n1', state: 'failed', failures: 2, retryAtMs: nowMs - 1 })
    const plan = reconcile(world([failed, other], { rules: [aRule({ modelName: 'other' })] }))
    expect(plan.unmet).toMatchObject([{ modelName: 'm', refusals: [{ filter: 'memory' }] }])
  })
})
