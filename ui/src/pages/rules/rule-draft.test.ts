import { expect, test } from 'vitest'
import type { RuleView } from '../../../../src/api/admin/rule-schemas.ts'
import { blankDraft, bodyOf, draftOf, draftWords, mistakeOf, type RuleDraft } from './rule-draft.ts'

const aDraft = (some: Partial<RuleDraft> = {}): RuleDraft => ({ ...blankDraft('llama'), ...some })

test('counts are sent in auto-scale only', () => {
  const typed = { min: 2, max: 4, pairs: { tier: 'fast' } }
  expect(bodyOf(aDraft({ ...typed, mode: 'auto' }))).toEqual({
    model_name: 'llama',
    node_selector: { tier: 'fast' },
    min_replicas: 2,
    max_replicas: 4,
    route_policy: 'least_loaded',
  })
  expect(bodyOf(aDraft({ ...typed, mode: 'pin' }))).toMatchObject({ min_replicas: 0, max_replicas: 0 })
  expect(bodyOf(aDraft({ ...typed, mode: 'spread' }))).toMatchObject({ min_replicas: 0, spread_all: true })
})

test('an empty selector is left out, and so is spread_all outside of its mode', () => {
  expect(bodyOf(aDraft())).not.toHaveProperty('node_selector')
  expect(bodyOf(aDraft())).not.toHaveProperty('spread_all')
})

test('scaling to zero goes without a minimum only', () => {
  expect(bodyOf(aDraft({ min: 0, scaleToZero: 300 }))).toMatchObject({ scale_to_zero_after_s: 300 })
  expect(bodyOf(aDraft({ min: 1, scaleToZero: 300 }))).not.toHaveProperty('scale_to_zero_after_s')
  expect(bodyOf(aDraft({ mode: 'spread', min: 0, scaleToZero: 300 }))).not.toHaveProperty('scale_to_zero_after_s')
})

test.each<[string, Partial<RuleDraft>, string | undefined]>([
  ['a model is needed', { modelName: ' ' }, 'model'],
  ['a pin needs a label', { mode: 'pin' }, 'selector'],
  ['a pin with a label is enough', { mode: 'pin', pairs: { a: 'b' } }, undefined],
  ['auto-scale needs a number', { min: 0 }, 'min'],
  ['a maximum is a number', { min: 0, max: 2 }, undefined],
  ['a time without requests is enough', { min: 0, scaleToZero: 60 }, undefined],
  ['too short a time is refused', { min: 0, scaleToZero: 5 }, 'scaleToZero'],
  ['a maximum below the minimum is refused', { min: 3, max: 2 }, 'max'],
  ['too many replicas are refused', { min: 10_001 }, 'min'],
  ['spread needs nothing more', { mode: 'spread', min: 0 }, undefined],
  ['a selector that no node can meet is refused', { pairs: { zone: '!!x' } }, 'selector'],
])('%s', (_, some, field) => {
  expect(mistakeOf(aDraft(some))?.field).toBe(field)
})

test('a stored rule opens as what it is, also one that asks for nothing', () => {
  const rule = {
    model_name: 'llama',
    node_selector: { zone: ['a', 'b'] },
    min_replicas: 0,
    max_replicas: 0,
    spread_all: false,
    scale_to_zero_after_s: null,
    route_policy: 'session',
  } as unknown as RuleView
  const draft = draftOf(rule)
  expect(draft).toMatchObject({ mode: 'pin', pairs: { zone: 'a,b' }, routePolicy: 'session' })
  expect(bodyOf(draft)).toMatchObject({ node_selector: { zone: ['a', 'b'] } })
  expect(draftOf({ ...rule, node_selector: {} })).toMatchObject({ mode: 'pin', pairs: {} })
  expect(draftOf({ ...rule, node_selector: null as never })).toMatchObject({ pairs: {} })
})

test('two drafts can be told apart in words', () => {
  const [a, b] = [draftWords(aDraft()), draftWords(aDraft({ max: 4 }))]
  expect(Object.keys(a).filter((field) => a[field] !== b[field])).toEqual(['Maximum'])
})
