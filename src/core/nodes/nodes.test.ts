import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aNode } from '../../../test/support/builders.ts'
import { budgetBytes, parseBudget } from './budget.ts'
import { effectiveLabels, labelProblem, parseLabels, SLOTS_LABEL } from './labels.ts'
import { massLoss, stragglers } from './mass-loss.ts'
import { statusOf } from './status.ts'

const GIB = 2 ** 30

describe('a VRAM budget', () => {
  test.each([
    ['80%', 0.8 * 24 * GIB],
    ['100 %', 24 * GIB],
    ['12GB', 12e9],
    ['12gib', 12 * GIB],
    ['0.5GiB', 0.5 * GIB],
    ['2000000', 2e6],
    ['40GiB', 24 * GIB],
  ])('%s of 24 GiB', (text, bytes) => {
    expect(budgetBytes(parseBudget(text)!, 24 * GIB)).toBe(Math.floor(bytes))
  })

  test.each(['', '0', '80', '0%', '101%', '-5GB', '12 parsecs', '1.5', 'all', '%', '1e3GB', '99999999999TiB'])(
    '"%s" is none',
    (text) => {
      expect(parseBudget(text)).toBeUndefined()
    },
  )

  test('is never more than there is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.nat({ max: 2 ** 40 }), (percent, total) => {
        expect(budgetBytes(parseBudget(`${percent}%`)!, total)).toBeLessThanOrEqual(total)
      }),
    )
  })
})

describe('labels', () => {
  test("an admin's value wins over the worker's, the worker's over the automatic one", () => {
    const labels = effectiveLabels(
      [
        { key: 'a', value: 'worker', source: 'worker' },
        { key: 'a', value: 'admin', source: 'admin' },
        { key: 'b', value: 'auto', source: 'auto' },
        { key: 'b', value: 'worker', source: 'worker' },
      ],
      1,
    )
    expect(labels.filter(({ key }) => key !== SLOTS_LABEL).map(({ key, value }) => [key, value])).toEqual([
      ['a', 'admin'],
      ['b', 'worker'],
    ])
  })

  test('the number of slots is always the effective one, whatever anybody set', () => {
    expect(effectiveLabels([{ key: SLOTS_LABEL, value: '9', source: 'admin' }], 3)).toEqual([
      { key: SLOTS_LABEL, value: '3', source: 'auto' },
    ])
  })

  test('any printable unicode is fine', () => {
    expect(labelProblem('зона', 'Köln 🚢 1/2 #3 100%')).toBeUndefined()
  })

  test.each([
    ['', 'x', 'needs a key'],
    [' a', 'x', 'spaces'],
    ['a\nb', 'x', 'control characters'],
    ['a', 'x\u0000', 'control characters'],
    ['k'.repeat(101), 'x', '100 characters'],
    ['k', 'v'.repeat(201), '200 characters'],
    [SLOTS_LABEL, '4', 'max_replicas_per_model'],
  ])('%j=%j is refused', (key, value, problem) => {
    expect(labelProblem(key, value)).toContain(problem)
  })

  test('are read from a command line', () => {
    expect(parseLabels('tier=fast, gpu = a100,,url=http://x?a=b')).toEqual({
      ok: true,
      labels: { tier: 'fast', gpu: 'a100', url: 'http://x?a=b' },
    })
    expect(parseLabels('tier')).toEqual({ ok: false, problem: '"tier" has no "="; expected key=value,key=value' })
  })
})

test('the status follows from approval, desired and liveness', () => {
  expect(statusOf(aNode({ approved: false }))).toBe('pending')
  expect(statusOf(aNode({ approved: false, liveness: 'offline', desired: 'draining' }))).toBe('pending')
  expect(statusOf(aNode())).toBe('healthy')
  expect(statusOf(aNode({ liveness: 'unreachable' }))).toBe('unhealthy')
  expect(statusOf(aNode({ desired: 'draining' }))).toBe('draining')
  expect(statusOf(aNode({ desired: 'draining', liveness: 'offline' }))).toBe('offline')
})

describe('a mass loss', () => {
  const nodes = (gone: number, of: number, sinceMs = (i: number) => i) =>
    Array.from({ length: of }, (_, i) =>
      aNode({ liveness: i < gone ? 'offline' : 'online', livenessSinceMs: sinceMs(i) }),
    )

  test.each([
    [1, 1, 0],
    [1, 2, 0],
    [2, 4, 0],
    [2, 3, 2],
    [2, 2, 2],
    [6, 10, 6],
  ])('%i of %i at once: %i frozen', (gone, of, frozen) => {
    expect(massLoss(nodes(gone, of))).toHaveLength(frozen)
  })

  test('nodes that went one after the other, said goodbye or were never approved do not count', () => {
    expect(massLoss(nodes(3, 4, (i) => i * 100_000))).toEqual([])
    expect(massLoss(nodes(3, 4).map((node) => ({ ...node, saidGoodbye: true })))).toEqual([])
    expect(massLoss(nodes(3, 4).map((node) => ({ ...node, approved: false })))).toEqual([])
  })

  describe('that one heartbeat ends', () => {
    const aLoss = (backMs: number) => [
      aNode({ id: 'a', liveness: 'offline', livenessSinceMs: 1000 }),
      aNode({ id: 'b', liveness: 'online', livenessSinceMs: backMs }),
      aNode({ id: 'c', liveness: 'online', livenessSinceMs: 0 }),
    ]
    const late = (backMs: number, listening: Parameters<typeof stragglers>[1]): string[] =>
      stragglers(aLoss(backMs), listening).map(({ id }) => id)

    test('leaves the others some seconds to be heard as well', () => {
      expect(massLoss(aLoss(100_000))).toEqual([])
      expect(late(100_000, { nowMs: 100_001 })).toEqual(['a'])
      expect(late(100_000, { nowMs: 114_999 })).toEqual(['a'])
      expect(late(100_000, { nowMs: 115_000 })).toEqual([])
    })

    test('from when the leader listens', () => {
      expect(late(100_000, { nowMs: 130_000, heardSinceMs: 120_000 })).toEqual(['a'])
      expect(late(100_000, { nowMs: 136_000, heardSinceMs: 120_000 })).toEqual([])
    })

    test('but not one that went after those that are there came, nor one that an admin has given up', () => {
      expect(late(500, { nowMs: 1001 })).toEqual([])
      expect(late(100_000, { nowMs: 100_001, lossAcceptedMs: 2000 })).toEqual([])
    })

    test('nor one that was lost alone: a node that comes back elsewhere says nothing of it', () => {
      const others = ['d', 'e'].map((id) => aNode({ id, liveness: 'online', livenessSinceMs: 0 }))
      expect(stragglers([...aLoss(100_000), ...others], { nowMs: 100_001 })).toEqual([])
    })
  })

  test('nodes that join together and have not been heard yet are not lost', () => {
    expect(massLoss(nodes(3, 4).map((node) => ({ ...node, isHeard: false })))).toEqual([])
  })

  test('those that an admin no longer waits for do not count; those that go after that do', () => {
    const gone = nodes(3, 4, () => 5000)
    expect(massLoss(gone, 4999)).toHaveLength(3)
    expect(massLoss(gone, 5000)).toEqual([])
  })
})
