import { expect, test } from 'vitest'
import type { StopTarget } from '../../api/bus/messages.ts'
import { replicasMeant } from './stop-target.ts'

const replica = (id: string, modelName: string, replicaIndex: number, engine = 'sim', generation = 10) => ({
  spec: { id, generation, model_name: modelName, replica_index: replicaIndex, engine },
})
const all = [
  replica('m0', 'M', 0),
  replica('m1', 'M', 1),
  replica('n0', 'N', 0, 'vllm'),
  replica('odd', 'M#1', 0, 'sim', 20),
  replica('mm', 'M/é %#', 3),
]
const meant = (target: StopTarget): string[] => replicasMeant(target, all).map(({ spec }) => spec.id)

test.each([
  ['a replica, by id and generation', { what: 'replica', id: 'm0', generation: 10 }, ['m0']],
  ['not one of another generation', { what: 'replica', id: 'm0', generation: 11 }, []],
  ['a full key exactly', { what: 'key', key: 'M#1', not_after: 99 }, ['m1']],
  ['a key that nobody has: nothing', { what: 'key', key: 'M#7', not_after: 99 }, []],
  ['a key is split at the last #', { what: 'key', key: 'M#1#0', not_after: 99 }, ['odd']],
  ['odd characters', { what: 'key', key: 'M/é %##3', not_after: 99 }, ['mm']],
  ['a model: all its replicas and no namesake', { what: 'model', model_name: 'M', not_after: 99 }, ['m0', 'm1']],
  ['a model whose name looks like a key', { what: 'model', model_name: 'M#1', not_after: 99 }, ['odd']],
  ['an engine', { what: 'engine', engine: 'vllm', not_after: 99 }, ['n0']],
  ['all', { what: 'all', not_after: 99 }, ['m0', 'm1', 'n0', 'odd', 'mm']],
  ['but none that is newer than the command', { what: 'all', not_after: 15 }, ['m0', 'm1', 'n0', 'mm']],
] as const)('means %s', (_, target, ids) => {
  expect(meant(target)).toEqual(ids)
})
