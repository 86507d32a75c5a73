import { expect, test } from 'vitest'
import type { EventView } from '../../../../src/api/admin/schemas.ts'
import { joinedWith } from './joined-with.ts'

function anEvent(given: Partial<EventView>): EventView {
  return {
    id: 1,
    at: 0,
    actor: 'node ada',
    address: null,
    action: '',
    node_id: null,
    model_name: null,
    reason: '',
    data: {},
    ...given,
  }
}

test('the node that came with this token counts, and no other that came meanwhile', () => {
  const events = [
    anEvent({ action: 'token.created', data: { token_id: 't1' } }),
    anEvent({ action: 'node.registered', node_id: 'n2', data: { token_id: 't2' } }),
    anEvent({ action: 'node.registered', node_id: 'n1', data: { token_id: 't1' } }),
  ]
  expect(joinedWith('t1', events)).toBe('n1')
  expect(joinedWith('t3', events)).toBeUndefined()
})
