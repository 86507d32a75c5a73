import { expect, test } from 'vitest'
import { aModel, aReplica } from '../../../test/support/builders.ts'
import { effectOf, type Saving } from './model-effect.ts'

const old = aModel()
const changed = aModel({ revision: 'r2' })

function effect(fields: Partial<Saving> = {}) {
  return effectOf({ before: old, after: changed, replicas: [], rule: undefined, ...fields })
}

test('only replicas of the old meaning that run are replaced', () => {
  const replicas = [
    aReplica(),
    aReplica({ state: 'loading' }),
    aReplica({ state: 'failed' }),
    aReplica({ state: 'draining' }),
    aReplica({ revision: 'r2' }),
  ]
  expect(effect({ replicas })).toEqual({
    is_changed: true,
    replaced: 2,
    text: '2 replicas of the old revision are replaced one by one: a new one is started first where there is room for both.',
  })
})

test.each<[string, Partial<Saving>]>([
  ['Its first request loads it.', { before: undefined }],
  ['Its rule starts 1 replica.', { before: undefined, rule: { min_replicas: 1, spread_all: false } }],
  ['Its rule starts a replica on every node that it is for.', { rule: { min_replicas: 0, spread_all: true } }],
  ['Its rule starts 3 replicas.', { rule: { min_replicas: 3, spread_all: false } }],
])('%s', (text, fields) => {
  expect(effect(fields)).toEqual({ is_changed: true, replaced: 0, text })
})

test('to take an edit back is a change as well, and replaces what has come of it', () => {
  const replicas = [aReplica({ revision: 'r2' }), aReplica()]
  expect(effect({ before: changed, after: old, replicas })).toMatchObject({ is_changed: true, replaced: 1 })
})
