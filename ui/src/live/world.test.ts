import { expect, test } from 'vitest'
import type { LiveMessage } from '../../../src/api/admin/live-schemas.ts'
import type { NodeView, ReplicaView } from '../../../src/api/admin/schemas.ts'
import { nothingYet, takeIn } from './world.ts'

const none = { set: [], patch: {}, gone: [] }
const message = (part: Partial<LiveMessage>): LiveMessage => ({
  is_snapshot: false,
  at: 1000,
  nodes: none,
  replicas: none,
  models: none,
  rules: none,
  problems: null,
  traffic: null,
  newest_event: 1,
  ...part,
})
const node = (id: string, name: string): NodeView => ({ id, name, in_flight_count: 0 }) as NodeView
const replica = (id: string, nodeId: string): ReplicaView =>
  ({ id, node_id: nodeId, model_name: 'm', replica_index: 0, in_flight: 0 }) as ReplicaView

const begun = takeIn(
  nothingYet,
  message({
    is_snapshot: true,
    nodes: { ...none, set: [node('2', 'n10'), node('1', 'n9')] },
    replicas: { ...none, set: [replica('a', '1'), replica('b', '2')] },
  }),
  400,
)

test('a snapshot is the world, in the order that people expect of names with numbers', () => {
  expect(begun.nodes.map(({ name }) => name)).toEqual(['n9', 'n10'])
  expect(begun.replicasOn.get('2')?.map(({ id }) => id)).toEqual(['b'])
  expect(begun.clockAheadMs).toBe(600)
})

test('a change makes new objects of what changed and leaves everything else the same', () => {
  const after = takeIn(begun, message({ replicas: { ...none, patch: { b: { in_flight: 2 } } } }), 400)
  expect(after.nodes).toBe(begun.nodes)
  expect(after.replicasOn.get('1')).toBe(begun.replicasOn.get('1'))
  expect(after.replicasOn.get('2')?.[0]).toMatchObject({ id: 'b', in_flight: 2, model_name: 'm' })
})

test('what is gone is gone, and what is new is put in its place', () => {
  const after = takeIn(begun, message({ nodes: { set: [node('3', 'n1')], patch: {}, gone: ['1'] } }), 400)
  expect(after.nodes.map(({ name }) => name)).toEqual(['n1', 'n10'])
})

test('a snapshot after a lost connection leaves nothing of the old world', () => {
  const after = takeIn(begun, message({ is_snapshot: true, nodes: { ...none, set: [node('7', 'x')] } }), 400)
  expect(after.nodes.map(({ name }) => name)).toEqual(['x'])
  expect(after.replicas).toEqual([])
  expect(after.replicasOn.size).toBe(0)
})
