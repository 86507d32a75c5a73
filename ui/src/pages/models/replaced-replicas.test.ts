import { expect, test } from 'vitest'
import type { PlanView } from '../../../../src/api/admin/plan-schemas.ts'
import { replacedReplicas } from './replaced-replicas.ts'

const planWith = (after: string | null): Pick<PlanView, 'changes'> => ({
  changes: [
    { noun: 'model', name: 'llama', action: 'change', fields: [], revision: { before: 'old', after }, warning: null },
  ],
})
const replica = (revision: string, state: 'ready' | 'stopping' = 'ready', name = 'llama') => ({
  model_name: name,
  revision,
  state,
})

test('replicas of another revision that run are replaced', () => {
  const replicas = [replica('old'), replica('new'), replica('old', 'stopping'), replica('old', 'ready', 'qwen')]
  expect(replacedReplicas(planWith('new'), 'llama', replicas)).toBe(1)
})

test('a change that means the same replaces none', () => {
  expect(replacedReplicas(planWith('old'), 'llama', [replica('old')])).toBe(0)
  expect(replacedReplicas({ changes: [] }, 'llama', [replica('old')])).toBe(0)
})
