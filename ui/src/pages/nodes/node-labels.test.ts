import { expect, test } from 'vitest'
import { firstLabels, knownLabels, labelChoices, labelsOf } from './node-labels.ts'
import { aNode } from './testing.ts'

const labelled = aNode({
  labels: { 'node.replica-slots': '2', arch: 'x64', tier: 'fast', rack: 'r7', zone: 'z1', room: 'b', owner: 'me' },
  label_sources: { 'node.replica-slots': 'auto', arch: 'auto', tier: 'worker', rack: 'admin', zone: 'worker' },
})

test('labels that somebody has set come first, and never the one of the slots', () => {
  expect(labelsOf(labelled).map(([key]) => key)).toEqual(['rack', 'tier', 'zone', 'arch', 'room', 'owner'])
})

test('a row does not say the name again', () => {
  expect(firstLabels(aNode({ labels: { 'node.name': 'ada', tier: 'fast' } })).shown).toEqual([['tier', 'fast']])
})

test('a row has room for five', () => {
  const { shown, more } = firstLabels(labelled)
  expect(shown).toHaveLength(5)
  expect(more).toEqual([['owner', 'me']])
  expect(firstLabels(aNode()).shown).toEqual([])
})

test('known labels are those of all nodes, each value once; a key may be called anything', () => {
  const nodes = [
    aNode({ labels: { tier: 'slow' } }),
    aNode({
      labels: Object.fromEntries([
        ['__proto__', 'x'],
        ['tier', 'fast'],
      ]),
    }),
    aNode({ labels: { tier: 'fast' } }),
  ]
  expect(Object.entries(knownLabels(nodes))).toEqual([
    ['__proto__', ['x']],
    ['tier', ['fast', 'slow']],
  ])
})

test('a key whose values name nodes one by one is offered without them', () => {
  const nodes = Array.from({ length: 30 }, (_, i) => aNode({ labels: { host: `h${i}`, tier: 'fast' } }))
  expect(labelChoices(nodes)).toEqual([
    { key: 'host', values: [] },
    { key: 'tier', values: ['fast'] },
  ])
})
