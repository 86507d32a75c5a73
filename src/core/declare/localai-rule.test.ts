import { expect, test } from 'vitest'
import { fromLocalAiRule } from './localai-rule.ts'

test('what only LocalAI has is left out, and told where it meant something', () => {
  const theirs = {
    model_name: 'm',
    min_replicas: 1,
    route_policy: 'prefix_cache',
    balance_abs_threshold: 2,
    balance_rel_threshold: 0,
    min_prefix_match: 0.3,
  }
  expect(fromLocalAiRule(theirs)).toEqual({
    rule: { model_name: 'm', min_replicas: 1 },
    leftOut: ['balance_abs_threshold', 'min_prefix_match', 'route_policy prefix_cache (least_loaded is used)'],
  })
})

test.each([[{ model_name: 'm', replicas: 'all', route_policy: 'round_robin' }], ['no rule'], [null], [[1]]])(
  'everything else stays as it is: %j',
  (value) => {
    expect(fromLocalAiRule(value)).toEqual({ rule: value, leftOut: [] })
  },
)
