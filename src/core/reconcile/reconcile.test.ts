import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aModel, aNode, aReplica, aRule, aWorld } from '../../testing/builders.ts'
import { isEnding } from '../lifecycle/states.ts'
import type { Replica, World } from '../types.ts'
import { checkPlan } from './check-plan.ts'
import { reconcile, type Plan } from './reconcile.ts'

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

  test('a met rule needs no step', () => {
    const plan = reconcile(aWorld({ nodes: [aNode({ id: 'n1' })], replicas: [aReplica({ nodeId: 'n1' })] }))
    expect(plan).toEqual({ steps: [], unmet: [], frozen: [] })
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
  test.each([
    ['no model', { models: [] }],
    ['no rule', { rules: [] }],
    ['old revision', { models: [aModel({ revision: 'r2' })], rules: [aRule({ minReplicas: 0 })] }],
  ])('is stopped: %s', (why, fields) => {
    const world = aWorld({ nodes: [aNode({ id: 'n1' })], replicas: [aReplica({ nodeId: 'n1' })], ...fields })
    expect(reconcile(world).steps).toMatchObject([{ kind: 'stop', why }])
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

  test('a failed replica that nobody wants is forgotten: there is no process to stop', () => {
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

  test('but not on a node that has been drained meanwhile', () => {
    const nodes = [aNode({ id: 'n1', desired: 'draining' })]
    expect(reconcile(aWorld({ nowMs: 2000, nodes, replicas: [failedOn('n1')] })).steps).toEqual([])
  })
})

describe('from any world', () => {
  const labelled = (tier: string | undefined) => (tier === undefined ? {} : { tier })

  const arbitraryWorld: fc.Arbitrary<World> = fc
    .record({
      nodes: fc.array(
        fc.record({
          approved: fc.boolean(),
          draining: fc.boolean(),
          liveness: fc.constantFrom('online' as const, 'unreachable' as const, 'offline' as const),
          slots: fc.integer({ min: 1, max: 3 }),
          tier: fc.constantFrom('fast', 'slow', undefined),
          engines: fc.constantFrom({ sim: null }, { sim: 'no program' }, {}),
        }),
        { maxLength: 4 },
      ),
      rules: fc.array(
        fc.record({
          min: fc.integer({ min: 0, max: 5 }),
          cap: fc.integer({ min: 0, max: 6 }),
          tier: fc.constantFrom('fast', undefined),
        }),
        { maxLength: 3 },
      ),
      replicas: fc.array(
        fc.record({
          node: fc.nat({ max: 3 }),
          model: fc.nat({ max: 2 }),
          index: fc.nat({ max: 3 }),
          state: fc.constantFrom(
            'reserved' as const,
            'installing' as const,
            'staging' as const,
            'loading' as const,
            'ready' as const,
            'draining' as const,
            'stopping' as const,
            'failed' as const,
          ),
          old: fc.boolean(),
        }),
        { maxLength: 10 },
      ),
    })
    .map(({ nodes, rules, replicas }) => {
      const slots = new Map<string, Replica>()
      for (const { node, model, index, state, old } of replicas) {
        if (node >= nodes.length) continue
        const fields = {
          nodeId: `n${node}`,
          modelName: `m${model}`,
          replicaIndex: index,
          state,
          revision: old ? 'r0' : 'r1',
        }
        slots.set(`${node} ${model} ${index}`, aReplica({ ...fields, retryAtMs: state === 'failed' ? 500 : null }))
      }
      return aWorld({
        nodes: nodes.map(({ approved, draining, liveness, slots, tier, engines }, i) =>
          aNode({
            id: `n${i}`,
            approved,
            desired: draining ? 'draining' : 'active',
            liveness,
            maxReplicasPerModel: slots,
            labels: labelled(tier),
            engines,
          }),
        ),
        models: rules.map((_, i) => aModel({ name: `m${i}` })),
        rules: rules.map(({ min, cap, tier }, i) =>
          aRule({
            modelName: `m${i}`,
            minReplicas: min,
            maxReplicas: cap === 0 ? 0 : Math.max(min, cap),
            nodeSelector: labelled(tier),
          }),
        ),
        replicas: [...slots.values()],
      })
    })

  /** Everything that was asked for happens: the perfect executor. */
  function execute(world: World, plan: Plan): World {
    const ended = new Set(plan.steps.flatMap((step) => (step.kind === 'reserve' ? [] : [step.replica])))
    const started = plan.steps.flatMap((step) =>
      step.kind === 'reserve' ? [aReplica({ ...step, state: 'ready' })] : [],
    )
    const kept = world.replicas.filter((replica) => !ended.has(replica) && !isEnding(replica.state))
    return { ...world, nowMs: world.nowMs + 100_000, replicas: [...kept, ...started] }
  }

  test('every plan keeps the invariants', () => {
    fc.assert(
      fc.property(arbitraryWorld, (world) => {
        expect(checkPlan(world, reconcile(world))).toEqual([])
      }),
    )
  })

  test('a few turns reach a fixed point where every rule is met or has refusals', () => {
    fc.assert(
      fc.property(arbitraryWorld, (start) => {
        let world = start
        for (let turn = 0; turn < 4; turn += 1) world = execute(world, reconcile(world))
        const last = reconcile(world)
        expect(last.steps).toEqual([])
        for (const rule of world.rules) {
          const serving = world.nodes.filter(
            ({ desired, labels }) =>
              desired === 'active' && [undefined, labels['tier']].includes(rule.nodeSelector['tier']),
          )
          const active = new Set(serving.map((node) => node.id))
          const running = world.replicas.filter(
            (replica) => replica.modelName === rule.modelName && active.has(replica.nodeId),
          ).length
          const unmet = last.unmet.find(({ modelName }) => modelName === rule.modelName)?.missing ?? 0
          expect(running + unmet).toBeGreaterThanOrEqual(rule.minReplicas)
        }
      }),
    )
  })

  test('the same world gives the same plan', () => {
    fc.assert(
      fc.property(arbitraryWorld, (world) => {
        expect(reconcile(world)).toEqual(reconcile(structuredClone(world)))
      }),
    )
  })
})

test('a plan that breaks an invariant is refused with the reason', () => {
  const world = aWorld({ nodes: [aNode({ id: 'n1', liveness: 'offline' })] })
  const step = {
    kind: 'reserve',
    modelName: 'm',
    nodeId: 'n1',
    replicaIndex: 0,
    generation: 1,
    revision: 'r1',
    failures: 0,
  } as const
  expect(checkPlan(world, { steps: [step], unmet: [], frozen: [] })).toEqual(['n1/m#0: the node is offline'])
  const taken = aWorld({ nodes: [aNode({ id: 'n1' })], replicas: [aReplica({ nodeId: 'n1' })] })
  expect(checkPlan(taken, { steps: [step], unmet: [], frozen: [] })).toEqual(['n1/m#0: the slot is taken'])
  const bare = aWorld({ nodes: [aNode({ id: 'n1', engines: {} })] })
  expect(checkPlan(bare, { steps: [step], unmet: [], frozen: [] })).toEqual(['n1/m#0: the node cannot run sim'])
  const other = aWorld({ nodes: [aNode({ id: 'n1' })], rules: [aRule({ nodeSelector: { tier: 'fast' } })] })
  expect(checkPlan(other, { steps: [step], unmet: [], frozen: [] })).toEqual([
    'n1/m#0: the rule asks for tier=fast, the node has no label tier',
  ])
})
