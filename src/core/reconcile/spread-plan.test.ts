import { describe, expect, test } from 'vitest'
import { aModel, aNode, aNodeEngine, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import type { World } from '../types.ts'
import { checkPlan } from './check-plan.ts'
import { reconcile } from './reconcile.ts'

const everywhere = aRule({ spreadAll: true, minReplicas: 0 })
const plan = (fields: Partial<World>) => {
  const world = aWorld({ rules: [everywhere], ...fields })
  const made = reconcile(world)
  expect(checkPlan(world, made)).toEqual([])
  return made
}
const told = (fields: Partial<World>) =>
  plan(fields).steps.map((step) => {
    if (step.kind === 'reserve') return `start on ${step.nodeId}`
    return `${step.kind} ${step.replica.id}${step.kind === 'stop' ? ` (${step.why})` : ''}`
  })
const nodes = ['n1', 'n2', 'n3'].map((id) => aNode({ id, maxReplicasPerModel: 2 }))

describe('a rule that wants one on every node', () => {
  test('starts one on each, however many slots there are, and is content then', () => {
    expect(told({ nodes })).toEqual(['start on n1', 'start on n2', 'start on n3'])
    const replicas = nodes.map(({ id }) => aReplica({ nodeId: id }))
    expect(told({ nodes, replicas })).toEqual([])
  })

  test('follows joins, drains and labels', () => {
    const replicas = ['n1', 'n2'].map((nodeId) => aReplica({ id: `on ${nodeId}`, nodeId }))
    expect(told({ nodes, replicas })).toEqual(['start on n3'])
    const leaving = [nodes[0]!, { ...nodes[1]!, desired: 'draining' as const }]
    expect(told({ nodes: leaving, replicas })).toEqual([])
    const rules = [aRule({ spreadAll: true, minReplicas: 0, nodeSelector: { tier: 'gpu' } })]
    const labelled = [{ ...nodes[0]!, labels: { tier: 'gpu' } }, nodes[1]!]
    expect(told({ nodes: labelled, replicas, rules })).toEqual(['stop on n2 (selector)'])
  })

  test('stops a second one on a node, and never counts it for another', () => {
    const replicas = [0, 1].map((replicaIndex) => aReplica({ id: `r${replicaIndex}`, nodeId: 'n1', replicaIndex }))
    expect(told({ nodes: nodes.slice(0, 2), replicas })).toEqual(['stop r1 (surplus)', 'start on n2'])
  })

  test('says which nodes cannot take one, and starts it on the others', () => {
    const bare = aNode({ id: 'bare', engines: {} })
    const made = plan({ nodes: [...nodes.slice(0, 1), bare] })
    expect(made.steps).toMatchObject([{ kind: 'reserve', nodeId: 'n1' }])
    expect(made.unmet).toMatchObject([{ missing: 1, refusals: [{ nodeId: 'bare', filter: 'engine' }] }])
  })

  test('tells a waiting client why it is nowhere', () => {
    const rules = [aRule({ spreadAll: true, minReplicas: 0, nodeSelector: { tier: 'gpu' } })]
    const demands = [{ modelName: 'm', sinceMs: 0, wantedUntilMs: 9000 }]
    expect(plan({ nodes, rules }).unmet).toEqual([])
    const [unmet] = plan({ nodes, rules, demands }).unmet
    expect(unmet).toMatchObject({ modelName: 'm', missing: 1 })
    expect(unmet!.refusals.map(({ nodeId, filter }) => `${nodeId} ${filter}`)).toEqual([
      'n1 selector',
      'n2 selector',
      'n3 selector',
    ])
  })

  test('replaces an old revision node by node: beside it where there is a slot, else in its place', () => {
    const models = [aModel({ revision: 'r2' })]
    const replicas = [aReplica({ id: 'old', nodeId: 'n1' })]
    expect(told({ models, nodes: nodes.slice(0, 1), replicas })).toEqual(['start on n1'])
    const narrow = [aNode({ id: 'n1', maxReplicasPerModel: 1 })]
    expect(told({ models, nodes: narrow, replicas })).toEqual(['stop old (old revision)'])
  })

  test('leaves a node alone where it failed, until its wait is over, and never two on one', () => {
    const failed = aReplica({ id: 'f', nodeId: 'n1', state: 'failed', failures: 1, retryAtMs: 5000 })
    expect(told({ nowMs: 4000, nodes: nodes.slice(0, 1), replicas: [failed] })).toEqual([])
    expect(told({ nowMs: 5000, nodes: nodes.slice(0, 1), replicas: [failed] })).toEqual(['forget f', 'start on n1'])
  })
})

describe('scaling in a plan', () => {
  const rules = [aRule({ minReplicas: 1, maxReplicas: 3 })]
  const busy = [{ modelName: 'm', busy: 1, waiting: 0 }]
  const one = aReplica({ nodeId: 'n1', readySinceMs: 1000 })

  test('adds one replica when all are busy, and nothing is called unmet when there is no room for it', () => {
    expect(told({ rules, nodes, replicas: [one], loads: busy })).toEqual(['start on n2'])
    const full = plan({ rules, nodes: [aNode({ id: 'n1' })], replicas: [one], loads: busy })
    expect(full).toMatchObject({ steps: [], unmet: [] })
  })

  test('never takes room from another model for one more', () => {
    const card = { index: 0, name: 'gpu', totalVram: 24, availableVram: 0, unified: false }
    const engines = { sim: aNodeEngine({ uses: { device: 'gpu' } }) }
    const node = aNode({ id: 'n1', maxReplicasPerModel: 2, devices: [card], engines })
    const memory = { vram: 20, ram: 0 }
    const models = [aModel({ memory }), aModel({ name: 'idle', memory })]
    const claim = { devices: [{ index: 0, bytes: 20 }], ram: 0, disk: 0, source: 'explicit' as const, alone: false }
    const idle = aReplica({ id: 'idle', modelName: 'idle', nodeId: 'n1', claim, readySinceMs: 0 })
    const world = { nowMs: 9e9, rules, models, nodes: [node], replicas: [{ ...one, readySinceMs: 9e9 }, idle] }
    expect(told({ ...world, loads: busy })).toEqual([])
  })

  test('stops what has been idle for long, highest index first, and keeps the minimum', () => {
    const replicas = [0, 1, 2].map((replicaIndex) =>
      aReplica({ id: `r${replicaIndex}`, nodeId: nodes[replicaIndex]!.id, replicaIndex: 0, readySinceMs: 0 }),
    )
    expect(told({ nowMs: 300_000, rules, nodes, replicas })).toHaveLength(2)
    const toZero = [aRule({ minReplicas: 0, scaleToZeroAfterMs: 60_000 })]
    expect(
      told({ nowMs: 60_000, rules: toZero, nodes, replicas: [one].map((r) => ({ ...r, readySinceMs: 0 })) }),
    ).toHaveLength(1)
  })

  test('a waiting client keeps it from going to zero', () => {
    const toZero = [aRule({ minReplicas: 0, scaleToZeroAfterMs: 60_000 })]
    const demands = [{ modelName: 'm', sinceMs: 0, wantedUntilMs: 1e9 }]
    expect(told({ nowMs: 90_000, rules: toZero, nodes, replicas: [{ ...one, readySinceMs: 0 }], demands })).toEqual([])
  })
})
