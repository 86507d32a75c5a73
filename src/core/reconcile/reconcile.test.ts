import { describe, expect, test } from 'vitest'
import { aNode, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import type { Plan } from './plan.ts'
import { reconcile } from './reconcile.ts'

const kinds = (plan: Plan): string[] => plan.steps.map((step) => step.kind)

describe('what a rule asks for', () => {
  test('a missing replica is reserved on a node', () => {
    const plan = reconcile(aWorld({ nodes: [aNode({ id: 'n1' })] }))
    expect(plan.steps).toMatchObject([
      { kind: 'reserve', modelName: 'm', nodeId: 'n1', replicaIndex: 0, revision: 'r1' },
    ])
  })

  test('several missing replicas are spread over nodes in one plan', () => {
    const nodes = [aNode({ id: 'n1' }), aNode({ id: 'n2' })]
    const plan = reconcile(aWorld({ nodes, rules: [aRule({ minReplicas: 2 })] }))
    expect(plan.steps.map((step) => step.kind === 'reserve' && step.nodeId)).toEqual(['n1', 'n2'])
  })

  test('with fewer slots than replicas asked for, what fits is placed and the rest is said with reasons', () => {
    const plan = reconcile(aWorld({ nodes: [aNode({ id: 'n1' })], rules: [aRule({ minReplicas: 3 })] }))
    expect(kinds(plan)).toEqual(['reserve'])
    expect(plan.unmet).toMatchObject([{ modelName: 'm', missing: 2, refusals: [{ filter: 'slot' }] }])
  })

  test('what runs above lowered slots runs on, and counts: nothing is placed beside it, nor stopped for it', () => {
    const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 1 })]
    const replicas = [aReplica({ nodeId: 'n1', replicaIndex: 1, readySinceMs: 0 })]
    const world = aWorld({ nowMs: 3_600_000, nodes, replicas, rules: [aRule({ minReplicas: 2 })] })
    const plan = reconcile(world)
    expect(plan.steps).toEqual([])
    expect(plan.unmet).toMatchObject([{ missing: 1, refusals: [{ filter: 'slot', needed: 2, available: 1 }] }])
    expect(plan.unmet[0]!.advice).toMatchObject([{ text: 'raise the slots of n1 to 2' }])
  })

  test('a met rule needs no step', () => {
    const plan = reconcile(aWorld({ nodes: [aNode({ id: 'n1' })], replicas: [aReplica({ nodeId: 'n1' })] }))
    expect(plan).toEqual({ steps: [], waiting: [], unmet: [], untried: [], frozen: [] })
  })

  test('a rule for a model that does not exist yet asks for nothing', () => {
    expect(reconcile(aWorld({ models: [], nodes: [aNode()] })).steps).toEqual([])
  })

  test('above the maximum the highest index goes first', () => {
    const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 3 })]
    const replicas = [0, 1, 2].map((replicaIndex) => aReplica({ nodeId: 'n1', replicaIndex }))
    const plan = reconcile(aWorld({ nodes, replicas, rules: [aRule({ minReplicas: 1, maxReplicas: 2 })] }))
    expect(plan.steps).toMatchObject([{ kind: 'stop', why: 'surplus', replica: { replicaIndex: 2 } }])
  })
})

describe('what is no longer wanted', () => {
  test('is stopped: its model is gone', () => {
    const world = aWorld({ nodes: [aNode({ id: 'n1' })], replicas: [aReplica({ nodeId: 'n1' })], models: [] })
    expect(reconcile(world).steps).toMatchObject([{ kind: 'stop', why: 'no model' }])
  })

  test('a replica that serves stays without a rule: it may be asked again', () => {
    const world = aWorld({ nodes: [aNode({ id: 'n1' })], replicas: [aReplica({ nodeId: 'n1' })], rules: [] })
    expect(reconcile(world).steps).toEqual([])
  })

  test.each(['reserved', 'staging', 'loading'] as const)(
    'a start without a waiting client is given up while %s',
    (state) => {
      const world = aWorld({ nodes: [aNode({ id: 'n1' })], replicas: [aReplica({ nodeId: 'n1', state })], rules: [] })
      expect(reconcile(world).steps).toMatchObject([{ kind: 'stop', why: 'nobody waits' }])
    },
  )

  test('a start that neither the minimum nor anybody asks for is given up; one more beside what serves may come', () => {
    const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 2 })]
    const starting = aReplica({ nodeId: 'n1', replicaIndex: 0, state: 'loading' })
    const rules = [aRule({ minReplicas: 0 })]
    expect(reconcile(aWorld({ nodes, rules, replicas: [starting] })).steps).toEqual([
      { kind: 'stop', replica: starting, why: 'nobody waits' },
    ])
    const beside = [starting, aReplica({ nodeId: 'n1', replicaIndex: 1, readySinceMs: 1000 })]
    expect(reconcile(aWorld({ nodes, rules, replicas: beside })).steps).toEqual([])
  })

  test('above the maximum what does not serve yet goes before what does', () => {
    const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 2 })]
    const starting = aReplica({ nodeId: 'n1', replicaIndex: 0, state: 'loading' })
    const replicas = [starting, aReplica({ nodeId: 'n1', replicaIndex: 1 })]
    const rules = [aRule({ minReplicas: 1, maxReplicas: 1 })]
    expect(reconcile(aWorld({ nodes, replicas, rules })).steps).toEqual([
      { kind: 'stop', replica: starting, why: 'surplus' },
    ])
  })

  test('what is stopping already is left to stop', () => {
    const replicas = [aReplica({ nodeId: 'n1', state: 'stopping' })]
    expect(reconcile(aWorld({ models: [], nodes: [aNode({ id: 'n1' })], replicas })).steps).toEqual([])
  })
})

describe('what went wrong', () => {
  test('a replica on a node that is gone is given up and replaced elsewhere', () => {
    const nodes = [aNode({ id: 'n1', liveness: 'offline' }), aNode({ id: 'n2' })]
    const plan = reconcile(aWorld({ nodes, replicas: [aReplica({ nodeId: 'n1' })] }))
    expect(plan.steps).toMatchObject([
      { kind: 'forget', why: 'node offline' },
      { kind: 'reserve', nodeId: 'n2' },
    ])
  })

  test('when most nodes fall silent together, nothing is given up or replaced; one after the other they are', () => {
    const three = (since: number[]) =>
      since.map((livenessSinceMs, i) => aNode({ id: `n${i}`, liveness: i < 2 ? 'offline' : 'online', livenessSinceMs }))
    const replicas = [aReplica({ nodeId: 'n0' })]
    const together = reconcile(aWorld({ nodes: three([1000, 2000, 0]), replicas }))
    expect(together.steps).toEqual([])
    expect(together.frozen.map((node) => node.id)).toEqual(['n0', 'n1'])
    const apart = reconcile(aWorld({ nodes: three([1000, 90_000, 0]), replicas }))
    expect(kinds(apart)).toEqual(['forget', 'reserve'])
    expect(apart.frozen).toEqual([])
  })

  test('an agent gets no replicas', () => {
    const plan = reconcile(aWorld({ nodes: [aNode({ id: 'n1', nodeType: 'agent' })] }))
    expect(plan.unmet).toMatchObject([{ refusals: [{ filter: 'backend', available: 'agent' }] }])
  })

  test('a replica on a draining node is replaced elsewhere and left alone', () => {
    const nodes = [aNode({ id: 'n1', desired: 'draining' }), aNode({ id: 'n2' })]
    const plan = reconcile(aWorld({ nodes, replicas: [aReplica({ nodeId: 'n1' })] }))
    expect(plan.steps).toMatchObject([{ kind: 'reserve', nodeId: 'n2' }])
  })

  test('a node that only missed heartbeats keeps its replicas', () => {
    const nodes = [aNode({ id: 'n1', liveness: 'unreachable' }), aNode({ id: 'n2' })]
    expect(reconcile(aWorld({ nodes, replicas: [aReplica({ nodeId: 'n1' })] })).steps).toEqual([])
  })

  const failedOn = (nodeId: string, fields = {}) =>
    aReplica({ nodeId, state: 'failed', failures: 2, retryAtMs: 2000, generation: 5000, ...fields })

  test('a replica that failed to start is tried on another node, not on the same one again', () => {
    const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 4 }), aNode({ id: 'n2' })]
    const plan = reconcile(aWorld({ nowMs: 9999, nodes, replicas: [failedOn('n1')] }))
    expect(plan.steps).toMatchObject([{ kind: 'reserve', nodeId: 'n2', failures: 0 }])
  })

  test('with no other node it waits its time, and says so', () => {
    const plan = reconcile(aWorld({ nowMs: 1500, nodes: [aNode({ id: 'n1' })], replicas: [failedOn('n1')] }))
    expect(plan.steps).toEqual([])
    expect(plan.unmet).toMatchObject([
      { missing: 1, refusals: [{ filter: 'failing', available: 'failed 2 times, next try in 1 s' }] },
    ])
  })

  test('a failure is remembered while its replacement is on the way, and forgotten when that is ready', () => {
    const nodes = [aNode({ id: 'n1' }), aNode({ id: 'n2' })]
    const world = (state: 'loading' | 'ready') =>
      aWorld({ nowMs: 9999, nodes, replicas: [failedOn('n1'), aReplica({ nodeId: 'n2', state })] })
    expect(reconcile(world('loading')).steps).toEqual([])
    expect(reconcile(world('ready')).steps).toMatchObject([{ kind: 'forget', why: 'failed' }])
  })

  test('a failed replica that is not wanted is forgotten: there is no process to stop', () => {
    const plan = reconcile(aWorld({ models: [], nodes: [aNode({ id: 'n1' })], replicas: [failedOn('n1')] }))
    expect(plan.steps).toMatchObject([{ kind: 'forget', why: 'failed' }])
  })

  test('then it is tried again, with a newer generation and its count of failures', () => {
    const plan = reconcile(aWorld({ nowMs: 2000, nodes: [aNode({ id: 'n1' })], replicas: [failedOn('n1')] }))
    expect(plan.steps).toMatchObject([
      { kind: 'forget', why: 'failed' },
      { kind: 'reserve', nodeId: 'n1', failures: 2, generation: 5001 },
    ])
  })

  test('a failure is remembered for ten minutes without demand, for clients that come back', () => {
    const world = (nowMs: number, rules = [aRule({ minReplicas: 0 })]) =>
      aWorld({ nowMs, nodes: [aNode({ id: 'n1' })], rules, replicas: [failedOn('n1')] })
    expect(reconcile(world(2000 + 599_000)).steps).toEqual([])
    expect(reconcile(world(2000 + 599_000, [])).steps).toEqual([])
    expect(reconcile(world(2000 + 600_000)).steps).toMatchObject([{ kind: 'forget', why: 'failed' }])
    const demands = [{ modelName: 'm', sinceMs: 0, wantedUntilMs: 3000 }]
    const back = reconcile({ ...world(1500, []), demands })
    expect(back).toMatchObject({ steps: [], unmet: [{ modelName: 'm', refusals: [{ filter: 'failing' }] }] })
  })

  test('a failure is not forgotten at once when an old revision has still to be replaced: its wait would be lost', () => {
    const nodes = [aNode({ id: 'n1' }), aNode({ id: 'n2', desired: 'draining' }), aNode({ id: 'n3' })]
    const replicas = [
      aReplica({ nodeId: 'n1' }),
      aReplica({ nodeId: 'n2', replicaIndex: 0, revision: 'old' }),
      aReplica({ nodeId: 'n2', replicaIndex: 1, revision: 'old' }),
      failedOn('n3'),
    ]
    const plan = reconcile(aWorld({ nowMs: 1500, nodes, replicas }))
    expect(plan.steps).toMatchObject([
      { kind: 'stop', why: 'old revision', replica: { nodeId: 'n2', replicaIndex: 1 } },
    ])
  })

  test('with two failed in one node the slot that is tried again is the one that is given up', () => {
    const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 2 })]
    const replicas = [1, 0].map((replicaIndex) => failedOn('n1', { replicaIndex }))
    const plan = reconcile(aWorld({ nowMs: 9999, nodes, replicas }))
    expect(plan.steps).toMatchObject([
      { kind: 'forget', replica: { replicaIndex: 0 } },
      { kind: 'reserve', replicaIndex: 0 },
    ])
  })

  test('but not on a node that has been drained meanwhile', () => {
    const nodes = [aNode({ id: 'n1', desired: 'draining' })]
    expect(reconcile(aWorld({ nowMs: 2000, nodes, replicas: [failedOn('n1')] })).steps).toEqual([])
  })
})
