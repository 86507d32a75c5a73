import { describe, expect, test } from 'vitest'
import type { Selector } from '../types.ts'
import { mismatchOf } from './selector.ts'

describe('a selector matches a node', () => {
  const labels = { tier: 'gpu', zone: 'a', note: '' }

  test.each<[Selector]>([
    [{}],
    [{ tier: 'gpu' }],
    [{ tier: ['cpu', 'gpu'], zone: 'a' }],
    [{ tier: '!cpu' }],
    [{ rack: '!7' }],
    [{ '!spot': '' }],
    [{ note: '' }],
    [{ tier: '!cpu', zone: ['a'], '!spot': '' }],
    [{ tier: '!' }],
  ])('%j', (selector) => {
    expect(mismatchOf(selector, labels)).toBeUndefined()
  })

  test('one without any label has no label, and none that it must not have', () => {
    expect(mismatchOf({ constructor: '!x', '!toString': '' }, {})).toBeUndefined()
  })
})

describe('the first condition that is not met is told, with what the node has instead', () => {
  const labels = { tier: 'gpu', zone: 'a', spot: 'yes' }

  test.each<[Selector, string, string]>([
    [{ tier: 'cpu' }, 'tier=cpu', 'tier=gpu'],
    [{ rack: '7' }, 'rack=7', 'no label rack'],
    [{ tier: 'gpu', zone: ['b', 'c'] }, 'zone in b, c', 'zone=a'],
    [{ rack: ['7', '8'] }, 'rack in 7, 8', 'no label rack'],
    [{ tier: '!gpu' }, 'tier is not gpu', 'tier=gpu'],
    [{ '!spot': '' }, 'no label spot', 'spot=yes'],
    [{ tier: [] }, 'tier in ', 'tier=gpu'],
    [{ constructor: ['x'] }, 'constructor in x', 'no label constructor'],
    [{ zone: 'b', tier: 'cpu' }, 'zone=b', 'zone=a'],
  ])('%j', (selector, needed, available) => {
    expect(mismatchOf(selector, labels)).toEqual({ needed, available })
  })
})
