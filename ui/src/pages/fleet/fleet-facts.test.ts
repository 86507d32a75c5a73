import { expect, test } from 'vitest'
import type { NodeView, ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { berthsOf, matches, progressOf, rateOf } from './fleet-facts.ts'

const node = {
  name: 'Thor',
  address: '10.0.0.7:9000',
  status: 'healthy',
  labels: { tier: 'fast' },
} as unknown as NodeView
const replica = (modelName: string, index: number): ReplicaView =>
  ({ id: `${modelName}${index}`, model_name: modelName, replica_index: index }) as ReplicaView

test('a node is found by name, label and model, whatever the case, and every word must be met', () => {
  const replicas = [replica('llama-8b', 0)]
  expect(matches(node, replicas, '')).toBe(true)
  expect(matches(node, replicas, 'thor')).toBe(true)
  expect(matches(node, replicas, 'tier=fast LLAMA')).toBe(true)
  expect(matches(node, replicas, 'thor qwen')).toBe(false)
})

test('every slot of a model that runs is a berth, free ones too, and those above the cap', () => {
  expect(berthsOf(3, [replica('a', 1)])).toEqual([{ modelName: 'a', berths: [undefined, replica('a', 1), undefined] }])
  expect(berthsOf(1, [replica('a', 0), replica('a', 2)])[0]?.berths).toHaveLength(3)
  expect(berthsOf(1000, [replica('a', 0)])[0]?.berths).toHaveLength(16)
})

test('the rate of a node is the sum of its replicas', () => {
  expect(rateOf([replica('a', 0), replica('b', 0), replica('c', 0)], { a0: 1.5, b0: 2 })).toBe(3.5)
})

test('progress is told only when the size is known', () => {
  const progress = { file: null, done_bytes: 50, total_bytes: 200, bytes_per_s: null }
  expect(progressOf({ progress })).toBe(0.25)
  expect(progressOf({ progress: { ...progress, total_bytes: null } })).toBeUndefined()
  expect(progressOf({ progress: null })).toBeUndefined()
})
