import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ReplicaState } from '../types.ts'
import { endingState, isEnding, mayMove, retryDelayMs } from './states.ts'

const way: ReplicaState[] = ['reserved', 'installing', 'staging', 'loading', 'ready', 'draining', 'stopping']
const all: ReplicaState[] = [...way, 'failed']
const aState = fc.constantFrom(...all)

describe('a replica moves', () => {
  test('forward only, past any number of phases', () => {
    for (const [i, from] of way.entries()) {
      for (const [j, to] of way.entries()) expect([from, to, mayMove(from, to)]).toEqual([from, to, j > i])
    }
  })

  test.each<[ReplicaState, boolean]>([
    ['reserved', true],
    ['installing', true],
    ['staging', true],
    ['loading', true],
    ['ready', true],
    ['draining', false],
    ['stopping', false],
    ['failed', false],
  ])('from %s to failed: %s', (from, may) => {
    expect(mayMove(from, 'failed')).toBe(may)
  })

  test('from failed only to its end', () => {
    expect(all.filter((to) => mayMove('failed', to))).toEqual(['stopping'])
  })

  test('never in a circle, whatever is reported in whatever order', () => {
    fc.assert(
      fc.property(fc.array(aState, { maxLength: 30 }), (reports) => {
        const seen: ReplicaState[] = ['reserved']
        for (const report of reports) if (mayMove(seen.at(-1)!, report)) seen.push(report)
        expect(new Set(seen).size).toBe(seen.length)
        const end = seen.findIndex(isEnding)
        if (end >= 0) expect(seen.slice(end).every(isEnding)).toBe(true)
      }),
    )
  })
})

test('one that serves is drained first, whatever else is ended at once; each may move there', () => {
  expect(all.filter((state) => endingState(state) === 'draining')).toEqual(['ready'])
  for (const state of all.filter((one) => !isEnding(one))) expect(mayMove(state, endingState(state))).toBe(true)
})

test('the wait after failures doubles and ends at a minute', () => {
  expect([1, 2, 3, 7, 50].map(retryDelayMs)).toEqual([1000, 2000, 4000, 60_000, 60_000])
})
