import { expect, test } from 'vitest'
import { modeOf, ruleText } from './rule-mode.ts'

const aRule = (some: Partial<Parameters<typeof modeOf>[0]> = {}) => ({
  node_selector: {},
  min_replicas: 0,
  max_replicas: 0,
  spread_all: false,
  scale_to_zero_after_s: null,
  ...some,
})

test('what a rule asks for says what it is', () => {
  expect(modeOf(aRule({ spread_all: true }))).toBe('spread')
  expect(modeOf(aRule({ min_replicas: 1, node_selector: { tier: 'fast' } }))).toBe('auto')
  expect(modeOf(aRule({ max_replicas: 4 }))).toBe('auto')
  expect(modeOf(aRule({ scale_to_zero_after_s: 60 }))).toBe('auto')
  expect(modeOf(aRule({ node_selector: { tier: 'fast' } }))).toBe('pin')
  expect(modeOf(aRule())).toBe('inactive')
})

test('a rule without a selector that can be read does not fail', () => {
  expect(modeOf(aRule({ node_selector: null as never }))).toBe('inactive')
})

test('a rule is told in one line', () => {
  expect(ruleText(aRule({ min_replicas: 1 }))).toBe('At least 1 replica, no upper limit')
  expect(ruleText(aRule({ max_replicas: 2, scale_to_zero_after_s: 900 }))).toBe(
    'At least 0 replicas, at most 2, none after 15 min without a request',
  )
})
