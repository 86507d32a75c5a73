import { expect, test } from 'vitest'
import { aReplica, aWorld } from '../../../test/support/builders.ts'
import { problemsOf } from './problems.ts'
import type { Problem } from './types.ts'

const stuckLog: Problem = {
  kind: 'process',
  severity: 'warning',
  text: 'The log of this frontend is not written.',
  advice: null,
  node_id: null,
  node_name: null,
  key: null,
  model_name: null,
}
const fullDisk: Problem = { ...stuckLog, kind: 'store', severity: 'error', text: 'The disk is full.' }

test('what is wrong with the frontend comes before what it says of replicas, even where it is only a warning', () => {
  const failed = aReplica({ state: 'failed', error: 'it ended' })
  const world = {
    ...aWorld({ replicas: [failed] }),
    nodes: [],
    replicas: [{ ...failed, progress: null, lastExit: null }],
  }
  const problems = problemsOf(world, [], () => null, [stuckLog, fullDisk])
  expect(problems.map(({ kind }) => kind)).toEqual(['store', 'process', 'replica'])
})
