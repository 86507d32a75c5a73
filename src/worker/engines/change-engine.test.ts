import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { until } from '../../../test/support/until.ts'
import { aNode, failure, finished, reportOf, says } from './engines-suite.ts'
import { archiveAt, tarGzOf, zipOf } from './testing/build-archive.ts'

test('an engine is installed from an archive, and stays so', async () => {
  const node = aNode()
  const engines = node.open()
  const archive = node.archive('a.tgz', 'one')
  const accepted = engines.install({ command_id: '1', engine: 'vllm', archive })
  expect(accepted).toMatchObject({ state: 'installing', operation: { id: '1', kind: 'install', state: 'running' } })
  expect(await finished(engines, 'vllm')).toMatchObject({
    state: 'available',
    version: archive.sha256,
    operation: { id: '1', state: 'done', error: null, progress: null },
  })
  expect(says(engines, 'vllm')).toBe('one')
  expect(node).toMatchObject({ fetched: 1, released: 1, stopCalls: [] })
  expect(node.changes).toBeGreaterThanOrEqual(2)
  expect(readdirSync(join(node.folder, 'vllm')).toSorted()).toEqual([archive.sha256, 'current.json'].toSorted())

  const again = node.open()
  expect(reportOf(again, 'vllm')).toMatchObject({ state: 'available', version: archive.sha256, operation: null })
  expect(says(again, 'vllm')).toBe('one')
})

test.each([
  ['vllm', 'at the top'],
  ['build/bin/vllm', 'in build/bin'],
  ['vllm-1.2/bin/vllm', 'below a single folder'],
])('the program is found at %s, even if it is not executable', async (path) => {
  const node = aNode()
  const engines = node.open()
  const archive = archiveAt(join(node.root, 'a.zip'), zipOf([{ path, content: '#!/bin/sh\necho zip\n', mode: 0o600 }]))
  engines.install({ command_id: '1', engine: 'vllm', archive })
  await finished(engines, 'vllm')
  expect(says(engines, 'vllm')).toBe('zip')
})

test('what was installed is preferred to what is in PATH', async () => {
  const node = aNode()
  node.program('vllm', '#!/bin/sh\necho PATH\n')
  const engines = node.open()
  expect(says(engines, 'vllm')).toBe('PATH')
  engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'installed') })
  await finished(engines, 'vllm')
  expect(says(engines, 'vllm')).toBe('installed')
})

test('an archive without the program changes nothing', async () => {
  const node = aNode()
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'x', 'deep/down/inside/vllm') })
  const report = await finished(engines, 'vllm')
  expect(report).toMatchObject({ state: 'missing', version: null, operation: failure('has no program "vllm"') })
  expect(existsSync(join(node.folder, 'vllm'))).toBe(false)
  expect(node.released).toBe(1)
})

test('an evil archive changes nothing', async () => {
  const node = aNode()
  const engines = node.open()
  const archive = archiveAt(
    join(node.root, 'a.tgz'),
    tarGzOf([{ path: 'vllm' }, { path: '../../../evil', content: 'x' }]),
  )
  engines.install({ command_id: '1', engine: 'vllm', archive })
  expect((await finished(engines, 'vllm')).operation).toMatchObject(failure('not safe to unpack'))
  expect(existsSync(join(node.folder, 'vllm'))).toBe(false)
  expect(existsSync(join(node.root, 'evil'))).toBe(false)
})

test('a fetch that fails is told in its own words', async () => {
  const fetchArchive = async () => {
    throw new AppError('bad_gateway', 'https://example.org/a.tgz answered 404.')
  }
  const engines = aNode({ fetchArchive }).open()
  engines.install({
    command_id: '1',
    engine: 'vllm',
    archive: { url: 'https://example.org/a.tgz', sha256: 'a'.repeat(64) },
  })
  expect((await finished(engines, 'vllm')).operation).toMatchObject(failure('answered 404'))
})

test('installing the same again is nothing to do; installing another needs an upgrade', async () => {
  const node = aNode()
  const engines = node.open()
  const archive = node.archive('a.tgz', 'one')
  engines.install({ command_id: '1', engine: 'vllm', archive })
  await finished(engines, 'vllm')
  engines.install({ command_id: '2', engine: 'vllm', archive })
  expect((await finished(engines, 'vllm')).operation).toMatchObject({ id: '2', state: 'done' })
  engines.upgrade({ command_id: '3', engine: 'vllm', archive })
  expect((await finished(engines, 'vllm')).operation).toMatchObject({ id: '3', state: 'done', stopped: [] })
  engines.install({ command_id: '4', engine: 'vllm', archive: node.archive('b.tgz', 'two') })
  expect((await finished(engines, 'vllm')).operation).toMatchObject(failure('is installed already'))
  expect(node).toMatchObject({ fetched: 1, stopCalls: [] })
})

test('an installation that lost its program is repaired by installing it again', async () => {
  const node = aNode()
  const engines = node.open()
  const archive = node.archive('a.tgz', 'one')
  engines.install({ command_id: '1', engine: 'vllm', archive })
  await finished(engines, 'vllm')
  rmSync(engines.program(engines.find('vllm')!)!)
  engines.refresh(true)
  expect(reportOf(engines, 'vllm').state).toBe('missing')
  engines.install({ command_id: '2', engine: 'vllm', archive })
  expect(await finished(engines, 'vllm')).toMatchObject({ state: 'available', operation: { state: 'done' } })
  expect(says(engines, 'vllm')).toBe('one')
})

test('an upgrade stops the replicas, says which, and replaces the version', async () => {
  const node = aNode()
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'one') })
  await finished(engines, 'vllm')
  node.replicas.stopped = ['m#0', 'm#1']
  const next = node.archive('b.tgz', 'two')
  engines.upgrade({ command_id: '2', engine: 'vllm', archive: next })
  expect(await finished(engines, 'vllm')).toMatchObject({
    version: next.sha256,
    operation: { kind: 'upgrade', state: 'done', stopped: ['m#0', 'm#1'] },
  })
  expect(says(engines, 'vllm')).toBe('two')
  expect(node.stopCalls).toEqual(['vllm'])
  expect(readdirSync(join(node.folder, 'vllm')).toSorted()).toEqual([next.sha256, 'current.json'].toSorted())
})

test.each(['upgrade', 'remove'] as const)(
  '%s gives up when a replica survives, and changes nothing',
  async (change) => {
    const node = aNode()
    const engines = node.open()
    engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'one') })
    await finished(engines, 'vllm')
    node.replicas = { stopped: ['m#0'], survivors: ['m#1', 'n#0'] }
    engines[change]({ command_id: '2', engine: 'vllm', archive: node.archive('b.tgz', 'two') })
    expect((await finished(engines, 'vllm')).operation).toMatchObject({
      stopped: ['m#0'],
      ...failure('still run: m#1, n#0'),
    })
    expect(says(engines, 'vllm')).toBe('one')
    expect(readdirSync(join(node.folder, 'vllm'))).toHaveLength(2)
  },
)

test('a failed upgrade stops no replica and leaves the old version', async () => {
  const node = aNode()
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'one') })
  await finished(engines, 'vllm')
  engines.upgrade({ command_id: '2', engine: 'vllm', archive: node.archive('b.tgz', 'x', 'nothing') })
  expect((await finished(engines, 'vllm')).operation).toMatchObject({ stopped: [], ...failure('has no program') })
  expect(node.stopCalls).toEqual([])
  expect(says(engines, 'vllm')).toBe('one')
})

test('deleting stops the replicas and removes the folder', async () => {
  const node = aNode()
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'one') })
  await finished(engines, 'vllm')
  node.replicas.stopped = ['m#0']
  engines.remove({ command_id: '2', engine: 'vllm' })
  expect(await finished(engines, 'vllm')).toMatchObject({
    state: 'missing',
    version: null,
    operation: { kind: 'delete', state: 'done', stopped: ['m#0'] },
  })
  expect(existsSync(join(node.folder, 'vllm'))).toBe(false)
  engines.remove({ command_id: '3', engine: 'vllm' })
  expect((await finished(engines, 'vllm')).operation).toMatchObject({ id: '3', state: 'done' })
})

test('what Flotilla did not install it does not delete, nor stop for', async () => {
  const node = aNode()
  const program = node.program('vllm')
  const engines = node.open()
  engines.remove({ command_id: '1', engine: 'vllm' })
  expect((await finished(engines, 'vllm')).operation).toMatchObject(failure(`its program is ${program}`))
  expect(node.stopCalls).toEqual([])
})

test('an installed engine whose profile is gone can still be deleted', async () => {
  const node = aNode()
  node.profile('mine')
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'mine', archive: node.archive('a.tgz', 'x', 'mine-server') })
  await finished(engines, 'mine')
  rmSync(join(node.profilesFolder, 'mine.yaml'))
  engines.refresh(true)
  expect(reportOf(engines, 'mine')).toMatchObject({ state: 'broken', reason: expect.stringContaining('no profile') })
  engines.remove({ command_id: '2', engine: 'mine' })
  await until(() => engines.report().every(({ name }) => name !== 'mine'))
  expect(existsSync(join(node.folder, 'mine'))).toBe(false)
})

test.each(['../../etc', 'vlm', ''])('the engine %j is unknown', (engine) => {
  const engines = aNode().open()
  expect(() => engines.install({ command_id: '1', engine })).toThrow('knows no engine')
  expect(() => engines.remove({ command_id: '2', engine })).toThrow('knows no engine')
})

test('without a recipe there is nothing to install by', () => {
  const engines = aNode().open()
  expect(() => engines.install({ command_id: '1', engine: 'vllm' })).toThrow('does not say how to install it')
})
