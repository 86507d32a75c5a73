import { expect, test } from 'vitest'
import { findLabelled, knownLabels } from './label-search.ts'

const nodes = [
  { id: 'n1', name: 'ada', labels: { tier: 'fast', zone: 'z1', 'node.replica-slots': '1' } },
  { id: 'n2', name: 'bert', labels: { tier: 'slow' } },
  { id: 'n3', name: 'carl', labels: {} },
]
const found = (query: string): string[] => findLabelled(nodes, query).map(({ name }) => name)

test('nodes are found by name, id, key, value and pair, whatever the case', () => {
  expect(found('CARL')).toEqual(['carl'])
  expect(found('n2')).toEqual(['bert'])
  expect(found('zone')).toEqual(['ada'])
  expect(found('fast')).toEqual(['ada'])
  expect(found('Tier=Slow')).toEqual(['bert'])
  expect(found('  ')).toEqual(['ada', 'bert', 'carl'])
})

test('letters may be left out, but not be in another order', () => {
  expect(found('trfst')).toEqual(['ada'])
  expect(found('tsaf')).toEqual([])
})

test('the label of the slots is neither found nor suggested', () => {
  expect(found('replica')).toEqual([])
  expect(knownLabels(nodes)).toEqual({ tier: ['fast', 'slow'], zone: ['z1'] })
})
