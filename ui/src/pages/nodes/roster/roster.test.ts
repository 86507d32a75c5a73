import { describe, expect, test } from 'vitest'
import type { NodeView } from '../../../../../src/api/admin/schemas.ts'
import { memoryOf, readRosterView, rosterOf, sortedBy, writeRosterView, type RosterView } from './roster.ts'
import { aNode } from '../testing.ts'

const plain = readRosterView(new URLSearchParams())
const nobody = new Map<string, { model_name: string }[]>()

function shown(nodes: NodeView[], view: Partial<RosterView>, replicasOn = nobody): string {
  return rosterOf(nodes, replicasOn, { ...plain, ...view })
    .map(({ name }) => name)
    .join(' ')
}

describe('the roster', () => {
  const nodes = [
    aNode({ id: '1', name: 'ada', labels: { tier: 'fast' }, address: '10.0.0.1:9090' }),
    aNode({ id: '2', name: 'bert', labels: { tier: 'slow' }, status: 'draining' }),
    aNode({ id: '3', name: 'carl', labels: { tierless: 'fast' }, node_type: 'agent' }),
  ]

  test('finds nodes by name, address, label and model, whatever the case; all words must be there', () => {
    const replicasOn = new Map([['2', [{ model_name: 'Llama-8B' }]]])
    expect(shown(nodes, { search: 'ADA' })).toBe('ada')
    expect(shown(nodes, { search: '10.0.0.1:' })).toBe('ada')
    expect(shown(nodes, { search: 'tier=' })).toBe('ada bert')
    expect(shown(nodes, { search: 'fast' })).toBe('ada carl')
    expect(shown(nodes, { search: 'llama' }, replicasOn)).toBe('bert')
    expect(shown(nodes, { search: ' slow  llama ' }, replicasOn)).toBe('bert')
    expect(shown(nodes, { search: 'fast llama' }, replicasOn)).toBe('')
  })

  test('is narrowed down by type, status and label, or a key alone', () => {
    expect(shown(nodes, { type: 'agent' })).toBe('carl')
    expect(shown(nodes, { status: 'draining' })).toBe('bert')
    expect(shown(nodes, { label: 'tier=fast' })).toBe('ada')
    expect(shown(nodes, { label: 'tier' })).toBe('ada bert')
  })

  test('sorts by what a column shows, by name where that is equal', () => {
    const some = [
      aNode({ name: 'a', replica_count: 1, status: 'healthy' }),
      aNode({ name: 'b', replica_count: 3, status: 'pending' }),
      aNode({ name: 'c', replica_count: 1, status: 'offline' }),
    ]
    expect(shown(some, sortedBy('replicas'))).toBe('b a c')
    expect(shown(some, sortedBy('status'))).toBe('b c a')
    expect(shown(some, { sort: 'name', isDescending: true })).toBe('c b a')
  })

  test('does not jump with every heartbeat, but puts the silent on top', () => {
    const some = [
      aNode({ name: 'a', last_heartbeat: 1_000_000 }),
      aNode({ name: 'b', last_heartbeat: 995_000 }),
      aNode({ name: 'c', last_heartbeat: 400_000 }),
      aNode({ name: 'd', last_heartbeat: null }),
    ]
    expect(shown(some, sortedBy('heartbeat'))).toBe('d c a b')
  })
})

test('what is shown comes back from the address, and what is no choice counts as none', () => {
  const view: RosterView = {
    search: 'a b',
    type: 'agent',
    status: 'offline',
    label: 'k=v',
    sort: 'memory',
    isDescending: true,
  }
  expect(readRosterView(writeRosterView(view))).toEqual(view)
  expect(writeRosterView(plain).toString()).toBe('')
  expect(readRosterView(new URLSearchParams('type=x&status=y&sort=z&order=up'))).toEqual(plain)
})

describe('the memory that counts on a node', () => {
  const gpu = { index: 0, uuid: 'u', name: 'A10', total_vram: 24, available_vram: 20, unified: false }

  test('is that of its GPUs, else that of the machine, else nobody knows', () => {
    const withGpu = { gpu_vendor: 'nvidia', devices: [gpu], total_vram: 24, available_vram: 20, reserved_vram: 2 }
    expect(memoryOf(aNode(withGpu))).toEqual({ label: 'NVIDIA', total: 24, available: 20, reserved: 2 })
    expect(memoryOf(aNode({ ...withGpu, devices: [gpu, gpu] }))?.label).toBe('2× NVIDIA')
    expect(memoryOf(aNode({ total_ram: 64, available_ram: 60 }))).toMatchObject({ label: 'RAM', total: 64 })
    expect(memoryOf(aNode({ total_ram: null }))).toBeUndefined()
  })
})
