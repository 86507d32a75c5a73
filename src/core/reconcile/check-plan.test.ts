import { describe, expect, test } from 'vitest'
import { aClaim, aModel, aNode, aReplica, aReserve, aRule, aWorld } from '../../../test/support/builders.ts'
import type { World } from '../types.ts'
import { checkPlan } from './check-plan.ts'
import type { Plan, Step } from './plan.ts'

const problemsOf = (world: World, ...steps: Step[]): string[] => {
  const plan: Plan = { steps, waiting: [], unmet: [], untried: [], frozen: [] }
  return checkPlan(world, plan)
}

describe('a start is refused with the reason', () => {
  const step = aReserve()

  test('when the node is offline, has no such engine or not the labels', () => {
    const offline = aWorld({ nodes: [aNode({ id: 'n1', liveness: 'offline' })] })
    expect(problemsOf(offline, step)).toEqual(['n1/m#0: the node is offline'])
    const bare = aWorld({ nodes: [aNode({ id: 'n1', engines: {} })] })
    expect(problemsOf(bare, step)).toEqual(['n1/m#0: the node cannot run sim'])
    const other = aWorld({ nodes: [aNode({ id: 'n1' })], rules: [aRule({ nodeSelector: { tier: 'fast' } })] })
    expect(problemsOf(other, step)).toEqual(['n1/m#0: the rule asks for tier=fast, the node has no label tier'])
  })

  test('when the slot is taken, also by another step', () => {
    const taken = aWorld({ nodes: [aNode({ id: 'n1' })], replicas: [aReplica({ nodeId: 'n1' })] })
    expect(problemsOf(taken, step)).toEqual(['n1/m#0: the slot is taken'])
    expect(problemsOf(aWorld({ nodes: [aNode({ id: 'n1' })] }), step, step)).toEqual(['n1/m#0: the slot is taken'])
  })

  test('when as many run there as the node has slots, whatever their index; one that failed runs no more', () => {
    const nodes = [aNode({ id: 'n1' })]
    const beside = aReplica({ nodeId: 'n1', replicaIndex: 1, state: 'stopping' })
    const problem = 'n1/m#0: the node has 1 slots, and 1 run there'
    expect(problemsOf(aWorld({ nodes, replicas: [beside] }), step)).toEqual([problem])
    expect(problemsOf(aWorld({ nodes, replicas: [{ ...beside, state: 'failed' }] }), step)).toEqual([])
  })

  test('when its memory is held, also by one that ends or by another step', () => {
    const devices = [{ index: 0, name: 'gpu', totalVram: 8, availableVram: null, unified: false }]
    const nodes = [aNode({ id: 'n1', devices, maxReplicasPerModel: 2 })]
    const claim = aClaim({ devices: [{ index: 0, bytes: 5 }] })
    const wants = { ...step, claim }
    expect(problemsOf(aWorld({ nodes }), wants)).toEqual([])
    const replicas = [aReplica({ nodeId: 'n1', modelName: 'other', state: 'stopping', claim })]
    expect(problemsOf(aWorld({ nodes, replicas }), wants)).toEqual([expect.stringContaining('on gpu 0')])
    expect(problemsOf(aWorld({ nodes }), wants, { ...wants, replicaIndex: 1 })).toHaveLength(1)
  })
})

describe('an eviction is refused', () => {
  const nodes = [aNode({ id: 'n1', maxReplicasPerModel: 3 })]
  const evict = (replica: ReturnType<typeof aReplica>): Step => ({ kind: 'evict', replica, forModel: 'other' })

  test('of a busy replica', () => {
    const busy = aReplica({ nodeId: 'n1', inFlight: 1 })
    expect(problemsOf(aWorld({ nodes, rules: [], replicas: [busy] }), evict(busy))).toEqual([
      'n1/m#0: evicted although it is busy',
    ])
  })

  test('below the minimum, and one of an old revision counts for nothing', () => {
    const [first, second, old] = [
      aReplica({ nodeId: 'n1', replicaIndex: 0 }),
      aReplica({ nodeId: 'n1', replicaIndex: 1 }),
      aReplica({ nodeId: 'n1', replicaIndex: 2, revision: 'old' }),
    ]
    const world = aWorld({ nodes, models: [aModel()], replicas: [first, second, old] })
    expect(problemsOf(world, evict(first), evict(old))).toEqual([])
    expect(problemsOf(world, evict(first), evict(second))).toEqual([
      'm: 0 replicas are left after evictions, its rule asks for 1',
    ])
  })
})
