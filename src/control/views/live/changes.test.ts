import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyChanges, type Items } from '../../../../test/support/control/live-watcher.ts'
import { changesBetween, isNothing, isSame } from './changes.ts'

interface Item {
  id: string
  count: number
  labels: Record<string, unknown>
  parts: unknown[]
  text: string | null
}

const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>
const item: fc.Arbitrary<Item> = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', '__proto__', 'constructor'),
  count: fc.integer({ min: 0, max: 2 }),
  labels: fc.dictionary(fc.constantFrom('x', 'y'), json),
  parts: fc.array(json, { maxLength: 2 }),
  text: fc.option(fc.constantFrom('one', 'two')),
})
const list = fc.uniqueArray(item, { selector: ({ id }) => id })
const idOf = ({ id }: Item): string => id
const itemsOf = (some: readonly Item[]): Items => new Map(some.map((one) => [one.id, { ...one }]))
/** What is sent is JSON. */
const sent = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

describe('changes of a list', () => {
  test('applied to the old list they give the new one', () => {
    fc.assert(
      fc.property(list, list, (before, after) => {
        const items = itemsOf(sent(before))
        applyChanges(items, sent(changesBetween(before, after, idOf)), 'id')
        expect(items).toEqual(itemsOf(sent(after)))
      }),
    )
  })

  test('name only fields that are different, and nothing of what is the same', () => {
    fc.assert(
      fc.property(list, list, (before, after) => {
        const old = new Map(before.map((one) => [one.id, one]))
        const { patch, set, gone } = changesBetween(before, after, idOf)
        for (const [id, fields] of Object.entries(patch)) {
          for (const [field, value] of Object.entries(fields)) {
            expect(isSame(old.get(id)![field as keyof Item], value)).toBe(false)
          }
        }
        expect(set.every(({ id }) => !old.has(id))).toBe(true)
        expect(gone.every((id) => old.has(id))).toBe(true)
      }),
    )
  })

  test('are none between lists that say the same, in whatever order', () => {
    fc.assert(
      fc.property(list, (before) => {
        expect(isNothing(changesBetween(before, structuredClone(before).toReversed(), idOf))).toBe(true)
      }),
    )
  })
})

describe('plain data is the same', () => {
  test('exactly when its JSON is, whatever the order of its fields', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        expect(isSame(a, structuredClone(a))).toBe(true)
        if (JSON.stringify(a) !== JSON.stringify(b) && isSame(a, b)) expect(sent(a)).toEqual(sent(b))
      }),
    )
    expect(isSame({ a: 1, b: [null] }, { b: [null], a: 1 })).toBe(true)
    expect(isSame([], {})).toBe(false)
    expect(isSame({ a: undefined }, { b: undefined })).toBe(false)
    expect(isSame(null, {})).toBe(false)
  })
})
