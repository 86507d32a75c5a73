import { expect, test } from 'vitest'
import { RecentRows, RowMemory } from './row-memory.ts'

const parse = (row: Readonly<Record<string, unknown>>): { n: number } => ({ n: Number(row['n']) })

test('a row that is as it was is what it was, the same object', () => {
  const memory = new RowMemory<{ n: number }>()
  const [a, b] = memory.parse(
    [
      { id: 'a', n: 1 },
      { id: 'b', n: 1 },
    ],
    parse,
  )
  const again = memory.parse(
    [
      { id: 'b', n: 2 },
      { id: 'a', n: 1 },
    ],
    parse,
  )
  expect(again).toEqual([{ n: 2 }, { n: 1 }])
  expect(again[1]).toBe(a)
  expect(again[0]).not.toBe(b)
})

test('a row that was gone is parsed anew', () => {
  const memory = new RowMemory<{ n: number }>()
  const [first] = memory.parse([{ id: 'a', n: 1 }], parse)
  memory.parse([], parse)
  expect(memory.parse([{ id: 'a', n: 1 }], parse)[0]).not.toBe(first)
})

test('rows that are read by different readers are remembered until they change', () => {
  const recent = new RecentRows(parse)
  const [a] = recent.parse([{ id: 'a', n: 1 }])
  recent.parse([{ id: 'b', n: 1 }])
  expect(recent.parse([{ id: 'a', n: 1 }])[0]).toBe(a)
  expect(recent.parse([{ id: 'a', n: 2 }])).toEqual([{ n: 2 }])
  expect(recent.parse([{ id: 'a', n: 1 }])[0]).not.toBe(a)
})

test('no more of them are remembered than there is room for', () => {
  const recent = new RecentRows(parse)
  const [first] = recent.parse([{ id: 'first', n: 0 }])
  recent.parse(Array.from({ length: 10_000 }, (_, i) => ({ id: `r${i}`, n: i })))
  expect(recent.parse([{ id: 'first', n: 0 }])[0]).not.toBe(first)
})
