import { expect, test } from 'vitest'
import { NodeBudget, type BudgetLimits } from './node-budget.ts'

const limits: BudgetLimits = {
  mostBytes: 100,
  messagesPerS: 2,
  messagesAtOnce: 4,
  bytesPerS: 100,
  bytesAtOnce: 200,
  spoiltCosts: 3,
}
/** How many of so many messages are read. */
const read = (budget: NodeBudget, count: number, bytes: number, nowMs: number, nodeId = 'n'): number =>
  Array.from({ length: count }, () => budget.refusal(nodeId, bytes, nowMs)).filter((why) => why === undefined).length

test('so many messages are read at once, then so many a second', () => {
  const budget = new NodeBudget(limits)
  expect(read(budget, 10, 1, 0)).toBe(4)
  expect(read(budget, 10, 1, 1000)).toBe(2)
  expect(read(budget, 10, 1, 60_000)).toBe(4)
  expect(budget.refusal('n', 1, 60_000)).toContain('2 a second')
})

test('so many bytes', () => {
  const budget = new NodeBudget(limits)
  expect(read(budget, 4, 90, 0)).toBe(2)
  expect(read(budget, 4, 90, 1000)).toBe(1)
})

test('a message that is too large is never read, and costs nothing', () => {
  const budget = new NodeBudget(limits)
  expect(budget.refusal('n', 101, 0)).toContain('101 bytes')
  expect(read(budget, 10, 1, 0)).toBe(4)
})

test('one that was read and was no message costs more', () => {
  const budget = new NodeBudget(limits)
  expect(read(budget, 1, 1, 0)).toBe(1)
  budget.spoilt('n')
  expect(read(budget, 10, 1, 0)).toBe(1)
})

test('one node costs another nothing, and a clock that was set back takes nothing', () => {
  const budget = new NodeBudget(limits)
  expect(read(budget, 10, 1, 5000)).toBe(4)
  expect(read(budget, 10, 1, 5000, 'other')).toBe(4)
  expect(read(budget, 10, 1, 0)).toBe(0)
  expect(read(budget, 10, 1, 1000)).toBe(2)
})
