import { describe, expect, test } from 'vitest'
import { aClaim, aModel, aNode, aNodeEngine, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import type { Node, Replica } from '../types.ts'
import { reconcile } from './reconcile.ts'

/** The model was edited: `r1` is what it meant before. */
describe('replicas of an old revision', () => {
  const models = [aModel({ revision: 'r2' })]
  const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 4 })]
  const old = (replicaIndex: number, fields: Partial<Replica> = {}): Replica =>
    aReplica({ nodeId: 'n1', replicaIndex, revision: 'r1', ...fields })
  const fresh = (replicaIndex: number, fields: Partial<Replica> = {}): Replica =>
    aReplica({ nodeId: 'n1', replicaIndex, revision: 'r2', ...fields })
  const world = (replicas: Replica[], fields = {}) => aWorld({ nodes, models, replicas, ...fields })

  test('are replaced where there is room, and go one by one as the new ones are ready', () => {
    const both = [old(0), old(1)]
    const starts = reconcile(world(both)).steps
    expect(starts).toMatchObject([
      { kind: 'reserve', revision: 'r2', replicaIndex: 2 },
      { kind: 'reserve', revision: 'r2', replicaIndex: 3 },
    ])
    const starting = [fresh(2, { state: 'loading' }), fresh(3, { state: 'loading' })]
    expect(reconcile(world([...both, ...starting])).steps).toEqual([])
    expect(reconcile(world([...both, fresh(2), starting[1]!])).steps).toMatchObject([
      { kind: 'stop', why: 'old revision', replica: { replicaIndex: 1 } },
    ])
    expect(reconcile(world([...both, fresh(2), fresh(3)])).steps).toMatchObject([
      { kind: 'stop', why: 'old revision', replica: { replicaIndex: 0 } },
      { kind: 'stop', why: 'old revision', replica: { replicaIndex: 1 } },
    ])
  })

  test('are replaced by as many and no more, however the new ones come', () => {
    const half = [old(0), fresh(2), fresh(3, { state: 'loading' })]
    expect(reconcile(world(half, { rules: [] }))).toMatchObject({ steps: [], waiting: [], unmet: [] })
    expect(reconcile(world([old(0), fresh(2)], { rules: [] })).steps).toMatchObject([
      { kind: 'stop', why: 'old revision' },
    ])
  })

  test('are replaced without a rule too: they were loaded for a client', () => {
    expect(reconcile(world([old(0)], { rules: [] })).steps).toMatchObject([{ kind: 'reserve', revision: 'r2' }])
  })

  test.each(['reserved', 'staging', 'loading'] as const)(
    'that never served go at once, and leave no gap: %s',
    (state) => {
      const plan = reconcile(world([old(0, { state })], { rules: [] }))
      expect(plan.steps).toMatchObject([{ kind: 'stop', why: 'old revision' }])
    },
  )

  test('are not replaced beyond the maximum', () => {
    const rules = [aRule({ minReplicas: 1, maxReplicas: 1 })]
    const plan = reconcile(world([old(0), old(1)], { rules }))
    expect(plan.steps.map((step) => step.kind)).toEqual(['stop', 'reserve'])
  })

  describe('with no room beside them', () => {
    const gpu = { index: 0, name: 'gpu', totalVram: 8, availableVram: null, unified: false }
    const engines = { sim: aNodeEngine({ uses: { device: 'gpu' } }), other: aNodeEngine({ uses: { device: 'gpu' } }) }
    const full: Node[] = [aNode({ id: 'n1', devices: [gpu], engines, maxReplicasPerModel: 4 })]
    const large = [aModel({ revision: 'r2', memory: { vram: 4, ram: 0 } }), aModel({ name: 'b', revision: 'r1' })]
    const claim = aClaim({ devices: [{ index: 0, bytes: 4 }] })
    const rules = [aRule({ minReplicas: 2 })]
    const inFull = (replicas: Replica[], fields = {}) =>
      aWorld({ nowMs: 1_000_000, nodes: full, models: large, rules, replicas, ...fields })

    test('they make room one at a time', () => {
      const both = [old(0, { claim }), old(1, { claim })]
      const plan = reconcile(inFull(both))
      expect(plan.steps).toMatchObject([{ kind: 'stop', why: 'old revision' }])
      expect(plan.waiting).toMatchObject([{ modelName: 'm', waitsFor: [{ revision: 'r1' }] }])
      const oneEnds = [{ ...both[0]!, state: 'draining' as const }, both[1]!]
      expect(reconcile(inFull(oneEnds))).toMatchObject({ steps: [], waiting: [{ modelName: 'm' }] })
      expect(reconcile(inFull([both[1]!])).steps).toMatchObject([
        { kind: 'reserve', revision: 'r2' },
        { kind: 'stop', why: 'old revision' },
      ])
    })

    test('idle ones are not worth another model’s replica', () => {
      const idle = aReplica({ nodeId: 'n1', modelName: 'b', claim, readySinceMs: 0, lastUsedMs: 0 })
      const plan = reconcile(inFull([old(0, { claim }), idle], { rules: [] }))
      expect(plan.steps).toMatchObject([{ kind: 'stop', why: 'old revision', replica: { modelName: 'm' } }])
    })

    test('those whose engine takes memory as requests come still hold all that was claimed, whatever engine the model has now', () => {
      const growing = aNodeEngine({ uses: { device: 'gpu' }, memory: 'on_demand' })
      const nodes = [aNode({ id: 'n1', devices: [gpu], engines: { ...engines, growing }, maxReplicasPerModel: 4 })]
      // Started by the engine `growing`; the edit has changed the engine as well.
      const measured = { devices: [{ index: 0, bytes: 1 }], ram: 0 }
      const held = old(0, { claim: aClaim({ devices: [{ index: 0, bytes: 8 }] }), measured, inFlight: 1 })
      const other = aModel({ name: 'b', memory: { vram: 4, ram: 0 } })
      const models = [aModel({ revision: 'r2', memory: { vram: 8, ram: 0 } }), other]
      const plan = reconcile(inFull([held], { nodes, models, rules: [aRule({ modelName: 'b' })] }))
      expect(plan.steps.filter(({ kind }) => kind === 'reserve')).toEqual([])
    })
  })
})
