import { describe, expect, test } from 'vitest'
import type { LiveModel } from '../../../../../src/api/admin/live-schemas.ts'
import type { BackendView } from '../../../../../src/api/admin/schemas.ts'
import { aReplica } from '../testing.ts'
import { installBody, isUnderWay, replicasBy, versionText } from './engine-facts.ts'

function anEngine(operation: Partial<NonNullable<BackendView['operation']>> | null): BackendView {
  return {
    name: 'vllm',
    source: 'built-in',
    state: 'missing',
    reason: null,
    version: null,
    serves: [],
    memory: 'on_load',
    uses: { device: 'either' },
    operation: operation && {
      id: 'o1',
      kind: 'install',
      state: 'running',
      error: null,
      stopped: [],
      progress: null,
      ...operation,
    },
  }
}

describe('an engine is under way', () => {
  test('while its operation runs', () => {
    expect(isUnderWay(anEngine({}), {})).toBe(true)
    expect(isUnderWay(anEngine({ state: 'done' }), {})).toBe(false)
    expect(isUnderWay(anEngine(null), {})).toBe(false)
  })

  test('from when the node was asked until it tells of exactly that', () => {
    expect(isUnderWay(anEngine(null), { vllm: 'o1' })).toBe(true)
    expect(isUnderWay(anEngine({ id: 'o0', state: 'failed' }), { vllm: 'o1' })).toBe(true)
    expect(isUnderWay(anEngine({ state: 'failed' }), { vllm: 'o1' })).toBe(false)
  })
})

test('a version is short: the start of a hash, the day of a command', () => {
  expect(versionText('ab12'.repeat(16))).toBe('ab12ab12ab12')
  expect(versionText('2026-10-06T12:00:00.000Z')).toBe('2026-10-06')
  expect(versionText('b5200')).toBe('b5200')
  expect(versionText(null)).toBe('–')
})

test('without an archive an engine is installed as its profile says', () => {
  expect(installBody('vllm', ' ', '')).toEqual({ engine: 'vllm' })
  expect(installBody('vllm', 'https://x/y.tar.gz ', 'AB')).toEqual({
    engine: 'vllm',
    archive: { url: 'https://x/y.tar.gz', sha256: 'ab' },
  })
})

test('replicas run by the engine of their model, unless they have failed', () => {
  const models = [
    { name: 'llama', engine: 'vllm' },
    { name: 'embed', engine: 'sim' },
  ] as LiveModel[]
  const replicas = [aReplica(), aReplica({ id: 'r2', state: 'failed' }), aReplica({ id: 'r3', model_name: 'embed' })]
  expect(replicasBy('vllm', replicas, models).map(({ id }) => id)).toEqual(['r1'])
})
