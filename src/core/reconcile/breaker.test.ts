import { expect, test } from 'vitest'
import { aReserve, aRule } from '../../../test/support/builders.ts'
import type { Rule } from '../types.ts'
import { moveBreakers } from './breaker.ts'
import type { Plan } from './plan.ts'

type Passed = Pick<Plan, 'steps' | 'unmet' | 'untried'>
type Unmet = Plan['unmet'][number]

const unmet = (fields: Partial<Unmet> = {}): Passed => ({
  steps: [],
  unmet: [{ modelName: 'm', missing: 1, refusals: [], advice: [], isBusy: false, ...fields }],
  untried: [],
})
const met: Passed = { steps: [], unmet: [], untried: [] }
const untried: Passed = { steps: [], unmet: [], untried: ['m'] }
/** There was room for one of those that are missing. */
const partly: Passed = { ...unmet(), steps: [aReserve()] }

/** Passes one after the other, each so many milliseconds after the last; what was told, and the rule at the end. */
function passes(plans: Passed[], everyMs = 3000, from: Partial<Rule> = {}) {
  const ticked = new Map<string, number>()
  const rule = aRule(from)
  let nowMs = 1_000_000
  const told: string[] = []
  for (const plan of plans) {
    nowMs += everyMs
    for (const { untilMs, ticks, news } of moveBreakers([rule], plan, nowMs, ticked)) {
      Object.assign(rule, { unsatisfiableUntilMs: untilMs, unsatisfiableTicks: ticks })
      ticked.set('m', nowMs)
      if (news) told.push(news)
    }
  }
  return { rule, told, nowMs }
}

test('three passes without room make a rule unsatisfiable for five minutes, told once', () => {
  const { rule, told, nowMs } = passes([unmet(), unmet(), unmet()])
  expect(told).toEqual(['unsatisfiable'])
  expect(rule).toMatchObject({ unsatisfiableTicks: 3, unsatisfiableUntilMs: nowMs + 300_000 })
  expect(passes([unmet(), unmet()]).rule).toMatchObject({ unsatisfiableTicks: 2, unsatisfiableUntilMs: null })
  expect(passes(Array.from({ length: 300 }, () => unmet())).told).toEqual(['unsatisfiable'])
})

test('passes that were woken one after the other count as one', () => {
  expect(
    passes(
      Array.from({ length: 10 }, () => unmet()),
      100,
    ).rule.unsatisfiableTicks,
  ).toBe(1)
})

test('room ends it at once, and that is told if it was told before', () => {
  expect(passes([unmet(), unmet(), unmet(), met])).toMatchObject({
    told: ['unsatisfiable', 'satisfiable'],
    rule: { unsatisfiableTicks: 0, unsatisfiableUntilMs: null },
  })
  expect(passes([unmet(), met, unmet(), met])).toMatchObject({ told: [], rule: { unsatisfiableTicks: 0 } })
})

test('a wait for replicas that are busy is no want of room', () => {
  expect(
    passes([unmet({ isBusy: true }), unmet({ isBusy: true }), unmet({ isBusy: true })]).rule.unsatisfiableTicks,
  ).toBe(0)
})

test('nor is a start that failed and is tried again, unless more is missing than that', () => {
  const failing = { nodeId: 'n1', nodeName: 'n1', filter: 'failing' as const, needed: '', available: '', where: null }
  const waits = unmet({ refusals: [failing] })
  expect(passes([waits, waits, waits]).rule.unsatisfiableTicks).toBe(0)
  const more = unmet({ refusals: [failing, { ...failing, nodeId: 'n2', filter: 'memory' }], missing: 2 })
  expect(passes([more, more, more]).told).toEqual(['unsatisfiable'])
})

test('it is never open after a pass that placed something, and what was told is told once', () => {
  const open = [unmet(), unmet(), unmet()]
  expect(passes([...open, partly]).rule).toMatchObject({ unsatisfiableUntilMs: null, unsatisfiableTicks: 3 })
  expect(passes([...open, partly, unmet()])).toMatchObject({ told: ['unsatisfiable'] })
  expect(passes([...open, partly, unmet()]).rule.unsatisfiableUntilMs).not.toBeNull()
  expect(passes([...open, partly, met]).told).toEqual(['unsatisfiable', 'satisfiable'])
  expect(passes([unmet(), unmet(), partly]).rule).toMatchObject({ unsatisfiableUntilMs: null, unsatisfiableTicks: 2 })
  expect(passes([partly, unmet(), unmet()]).told).toEqual(['unsatisfiable'])
  expect(passes([...open, { ...untried, steps: [aReserve()] }]).rule.unsatisfiableUntilMs).toBeNull()
})

test('a pass that did not look for room counts neither way', () => {
  const { rule, told } = passes([unmet(), untried, untried, unmet(), untried])
  expect({ ticks: rule.unsatisfiableTicks, told }).toEqual({ ticks: 2, told: [] })
  expect(passes([unmet(), unmet(), unmet(), untried, untried]).told).toEqual(['unsatisfiable'])
})

test('a rule that lacks nothing is left alone', () => {
  expect(moveBreakers([aRule()], met, 5000, new Map())).toEqual([])
})
