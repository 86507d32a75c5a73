import { describe, expect, test } from 'vitest'
import { aRule, aWorld } from '../../../test/support/builders.ts'
import type { Node } from '../types.ts'
import { explainNode } from './explain-node.ts'
import { aBigModel, aGpuNode, aTenant, claimOn, GIB, gpu } from './scene-suite.ts'

const thor = (fields: Partial<Node> = {}): Node =>
  aGpuNode([gpu(0, 24, { availableVram: 10 * GIB })], {
    id: 't',
    name: 'thor',
    totalRam: 64 * GIB,
    availableRam: 40 * GIB,
    ...fields,
  })

const models = [aBigModel(20, { name: 'big' }), aBigModel(2, { name: 'small' })]
const explain = (world: Parameters<typeof aWorld>[0]) => explainNode(aWorld({ models, ...world }), 't', 'spread')!

describe('what a node has left', () => {
  test('is told by what it has, what is used, held and free, and which models fit', () => {
    const measured = { devices: [{ index: 0, bytes: 12 * GIB }], ram: 0 }
    const replicas = [
      aTenant({ id: 'a', nodeId: 't', claim: claimOn({ 0: 12 }), measured }),
      aTenant({ id: 'b', nodeId: 't', replicaIndex: 1, state: 'loading', claim: claimOn({ 0: 4 }) }),
      aTenant({ id: 'c', nodeId: 'elsewhere', claim: claimOn({ 0: 20 }) }),
    ]
    const { text, ram, devices, models } = explain({ nodes: [thor()], replicas })
    expect(devices).toEqual([
      { index: 0, name: 'card 24', total: 24 * GIB, used: 14 * GIB, claimed: 4 * GIB, free: 6 * GIB },
    ])
    expect(ram).toMatchObject({ total: 64 * GIB, used: 24 * GIB, claimed: 0 })
    expect(ram!.free).toBeLessThan(40 * GIB)
    expect(models).toMatchObject([
      { modelName: 'big', replicas: [], refusal: { filter: 'memory', where: 'gpu 0', text: expect.any(String) } },
      { modelName: 'small', refusal: null },
    ])
    expect(text).toEqual(['thor takes replicas: of 2 models it could have a further one of 1.'])
  })

  test('is no more than its budget leaves', () => {
    const { devices, text } = explain({ nodes: [thor({ vramBudget: 3 * GIB })] })
    expect(devices[0]).toMatchObject({ free: 3 * GIB, claimed: 0 })
    expect(text[1]).toBe('Its VRAM budget is 3.0 GiB, 3.0 GiB of that are left.')
  })

  test('is unknown where it was never read, and then what the hardware has counts', () => {
    const { devices, ram } = explain({ nodes: [thor({ devices: [gpu(0, 24)], totalRam: null, availableRam: null })] })
    expect(devices[0]).toMatchObject({ used: null, free: 24 * GIB })
    expect(ram).toBeNull()
  })

  test('names the replicas that are there, and what its rule asks of a node', () => {
    const replicas = [aTenant({ modelName: 'small', nodeId: 't', claim: claimOn({ 0: 2 }) })]
    const rules = [aRule({ modelName: 'big', nodeSelector: { tier: 'gold' } })]
    const { models } = explain({ nodes: [thor()], replicas, rules })
    expect(models).toMatchObject([
      { modelName: 'big', refusal: { filter: 'selector' } },
      { modelName: 'small', replicas: [{ key: 'small#0', state: 'ready' }], refusal: { filter: 'slot' } },
    ])
  })
})

describe('a node that takes nothing says why', () => {
  test.each<[string, Partial<Node>, string]>([
    ['pending', { approved: false, liveness: 'offline', isHeard: false }, 'It waits for approval.'],
    ['an agent', { nodeType: 'agent' }, 'It is an agent: it runs no replicas.'],
    ['draining', { desired: 'draining' }, 'It is being drained: nothing is left on it.'],
    ['unreachable', { liveness: 'unreachable' }, 'It has missed several heartbeats.'],
    ['offline', { liveness: 'offline' }, 'It is offline.'],
    ['never heard', { liveness: 'offline', isHeard: false }, 'It has not been heard yet.'],
  ])('%s', (_, fields, reason) => {
    const { text, models } = explain({ nodes: [thor(fields)] })
    expect(text).toEqual(['thor takes no replicas now.', reason])
    expect(models.every(({ refusal }) => refusal !== null)).toBe(true)
  })

  test('with all its reasons, and what is left of a drain', () => {
    const replicas = [aTenant({ nodeId: 't', inFlight: 3, state: 'draining' })]
    const node = thor({ desired: 'draining', liveness: 'offline', saidGoodbye: true })
    expect(explain({ nodes: [node], replicas }).text).toEqual([
      'thor takes no replicas now.',
      'It is being drained: 1 replica is left on it, with 3 requests.',
      'It said goodbye: its worker has ended, and comes back when it is started again.',
    ])
  })
})

test('without models there is nothing to refuse, and a node that is not there explains nothing', () => {
  expect(explain({ nodes: [thor()], models: [] }).text).toEqual(['thor takes replicas; there is no model yet.'])
  expect(explainNode(aWorld(), 'nobody', 'spread')).toBeUndefined()
})
