import { expect, test } from 'vitest'
import type { PlanImpossible, PlanStep, PlanView } from '../../../src/api/admin/plan-schemas.ts'
import { namesText, planLines } from './plan-lines.ts'

const GIB = 1024 ** 3

const aStep = (some: Partial<PlanStep> = {}): PlanStep => ({
  kind: 'start',
  key: 'llama#0',
  model_name: 'llama',
  node_name: 'ada',
  devices: [],
  ram: 0,
  source: 'computed',
  bytes_to_move: 0,
  why: null,
  for_model: null,
  ...some,
})
const anImpossible = (some: Partial<PlanImpossible> = {}): PlanImpossible => ({
  model_name: 'llama',
  missing: 1,
  is_new: true,
  is_busy: false,
  refusals: [],
  more_refusals: 0,
  advice: [],
  ...some,
})
const aPlan = (some: Partial<PlanView> = {}): PlanView => ({
  revision: 'r',
  changes: [],
  steps: [],
  moves: [],
  impossible: [],
  absent_nodes: [],
  frozen_nodes: [],
  is_complete: true,
  ...some,
})
const texts = (plan: Partial<PlanView>): string[] => planLines(aPlan(plan), 'llama').map(({ text }) => text)

test('starts are told with their nodes and what each takes', () => {
  const steps = [
    aStep({ node_name: 'ada', devices: [{ index: 0, bytes: 4 * GIB }] }),
    aStep({ node_name: 'ada', devices: [{ index: 1, bytes: 4 * GIB }] }),
    aStep({ node_name: 'bert', ram: 4 * GIB }),
  ]
  expect(texts({ steps })).toEqual(['Starts 3 replicas on ada (2) and bert, 4.0 GB of memory each.'])
})

test('all starts on one node need no count of their own', () => {
  expect(texts({ steps: [aStep(), aStep()] })).toEqual(['Starts 2 replicas on ada.'])
})

test('a need that nobody knows is not told as a number', () => {
  expect(texts({ steps: [aStep({ source: 'unknown', ram: GIB })] })[0]).toContain('not known before its files are read')
})

test('stops have their reason, by reason', () => {
  const steps = [
    aStep({ kind: 'stop', why: 'surplus', node_name: 'bert' }),
    aStep({ kind: 'stop', why: 'selector', node_name: 'carl' }),
    aStep({ kind: 'stop', why: 'of a newer version', node_name: 'dora' }),
  ]
  expect(texts({ steps })).toEqual([
    'Stops 1 replica on bert: there are more than the maximum.',
    'Stops 1 replica on carl: its node no longer matches.',
    'Stops 1 replica on dora: of a newer version.',
  ])
})

test('what is stopped to make room is named', () => {
  const steps = [aStep({ kind: 'evict', key: 'qwen#0', model_name: 'qwen', for_model: 'llama' })]
  expect(texts({ steps })).toEqual(['Stops qwen#0 on ada to make room.'])
})

test('files to move are told for the nodes of this model', () => {
  const moves = [
    { node_name: 'ada', bytes: 5 * GIB, unknown: 0 },
    { node_name: 'zoe', bytes: 9 * GIB, unknown: 0 },
  ]
  expect(texts({ steps: [aStep()], moves })).toContain('Brings 5.0 GB to ada.')
})

test('a replica without a place comes with what nodes say and what would help', () => {
  const refusals = [
    { node_name: 'ada', filter: 'selector', needed: 'tier=slow', available: 'tier=fast', where: null },
    { node_name: 'bert', filter: 'of a newer version', needed: 1, available: 0, where: null },
  ]
  const [line] = planLines(
    aPlan({ impossible: [anImpossible({ refusals, more_refusals: 2, advice: ['Label a node.'] })] }),
    'llama',
  )
  expect(line).toEqual({
    kind: 'impossible',
    text: '1 replica finds no place.',
    nodes: [
      { name: 'ada', text: 'needs the label tier=slow, has tier=fast' },
      { name: 'bert', text: 'refuses: of a newer version' },
      { name: '2 nodes more', text: '' },
    ],
    advice: 'Label a node.',
  })
})

test('other models are told of when they are worse off or move', () => {
  const impossible = [anImpossible({ model_name: 'qwen' }), anImpossible({ model_name: 'old', is_new: false })]
  const steps = [aStep({ model_name: 'embed' })]
  expect(texts({ impossible, steps })).toEqual([
    'qwen: 1 replica would find no place any more.',
    'Other models start or stop as well: embed.',
  ])
})

test('names end with how many more there are', () => {
  expect(namesText([])).toBe('')
  expect(namesText(['a'])).toBe('a')
  expect(namesText(['a', 'b', 'c'])).toBe('a, b and c')
  expect(namesText(['a', 'b', 'c', 'd', 'e', 'f', 'g'])).toBe('a, b, c, d, e and 2 more')
})
