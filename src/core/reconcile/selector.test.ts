import { describe, expect, test } from 'vitest'
import { aNode, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import type { Replica } from '../types.ts'
import { reconcile } from './reconcile.ts'

describe('a rule with a selector', () => {
  const rules = [aRule({ minReplicas: 1, nodeSelector: { tier: 'fast' } })]
  const fast = aNode({ id: 'fast', labels: { tier: 'fast' } })
  const slow = aNode({ id: 'slow', labels: { tier: 'slow' } })

  test('starts replicas on nodes that match and nowhere else', () => {
    const plan = reconcile(aWorld({ nodes: [fast, slow], rules: [aRule({ ...rules[0], minReplicas: 2 })] }))
    expect(plan.steps).toMatchObject([{ kind: 'reserve', nodeId: 'fast' }])
    expect(plan.unmet).toMatchObject([
      {
        missing: 1,
        refusals: [{ filter: 'slot' }, { filter: 'selector', needed: 'tier=fast', available: 'tier=slow' }],
      },
    ])
  })

  test('a replica on a node that stopped matching is replaced, and stopped when its replacement is ready', () => {
    const misplaced = aReplica({ nodeId: 'slow' })
    const world = (...replicas: Replica[]) => aWorld({ nodes: [fast, slow], rules, replicas: [misplaced, ...replicas] })
    expect(reconcile(world()).steps).toMatchObject([{ kind: 'reserve', nodeId: 'fast' }])
    expect(reconcile(world(aReplica({ nodeId: 'fast', state: 'loading' }))).steps).toEqual([])
    expect(reconcile(world(aReplica({ nodeId: 'fast' }))).steps).toEqual([
      { kind: 'stop', replica: misplaced, why: 'selector' },
    ])
  })

  test('with nowhere to go it stays, unused, so that the label can be put back', () => {
    const replicas = [aReplica({ nodeId: 'slow' })]
    const plan = reconcile(aWorld({ nodes: [slow], rules, replicas }))
    expect(plan).toMatchObject({ steps: [], unmet: [{ missing: 1, refusals: [{ filter: 'selector' }] }] })
    const back = reconcile(aWorld({ nodes: [{ ...slow, labels: fast.labels }], rules, replicas }))
    expect(back).toMatchObject({ steps: [], unmet: [] })
  })

  test('that keeps none running stops at once what does not match', () => {
    const none = [aRule({ minReplicas: 0, nodeSelector: { tier: 'fast' } })]
    const plan = reconcile(aWorld({ nodes: [slow], rules: none, replicas: [aReplica({ nodeId: 'slow' })] }))
    expect(plan.steps).toMatchObject([{ kind: 'stop', why: 'selector' }])
  })

  test('what does not match takes no place under the cap', () => {
    const capped = [aRule({ minReplicas: 1, maxReplicas: 1, nodeSelector: { tier: 'fast' } })]
    const replicas = [aReplica({ nodeId: 'slow' }), aReplica({ nodeId: 'fast', state: 'loading' })]
    expect(reconcile(aWorld({ nodes: [fast, slow], rules: capped, replicas })).steps).toEqual([])
  })

  test('a start that failed is not tried again where it may no longer be', () => {
    const replicas = [aReplica({ nodeId: 'slow', state: 'failed', failures: 2, retryAtMs: 0 })]
    expect(reconcile(aWorld({ nodes: [slow], rules, replicas })).steps).toEqual([])
  })
})
