import { expect, test } from 'vitest'
import { standingOf } from './standing.ts'

test('what nobody has touched is saved over itself', () => {
  const stored = { draft: { min: 1 }, updatedAt: 5 }
  expect(standingOf(stored, stored)).toEqual({ state: 'same', ifUpdatedAt: 5 })
  expect(standingOf(undefined, undefined)).toEqual({ state: 'same', ifUpdatedAt: 0 })
})

test('what somebody else has changed is a conflict, and the old time keeps it from being overwritten', () => {
  const standing = standingOf({ draft: { min: 1 }, updatedAt: 5 }, { draft: { min: 2 }, updatedAt: 6 })
  expect(standing).toEqual({ state: 'changed', ifUpdatedAt: 5 })
  expect(standingOf(undefined, { draft: { min: 2 }, updatedAt: 6 })).toEqual({ state: 'changed', ifUpdatedAt: 0 })
})

test('what was saved again as it was is no conflict', () => {
  const standing = standingOf({ draft: { min: 1 }, updatedAt: 5 }, { draft: { min: 1 }, updatedAt: 6 })
  expect(standing).toEqual({ state: 'same', ifUpdatedAt: 6 })
})

test('what was removed is made again by saving it', () => {
  expect(standingOf({ draft: {}, updatedAt: 5 }, undefined)).toEqual({ state: 'gone', ifUpdatedAt: 0 })
})
