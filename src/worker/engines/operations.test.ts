import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { aNode, failure, finished, reportOf, says, untilAborted } from './engines-suite.ts'

test('a command that comes twice is obeyed once', async () => {
  const node = aNode()
  const engines = node.open()
  const message = { command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'one') }
  engines.install(message)
  engines.install(message)
  await finished(engines, 'vllm')
  engines.remove({ command_id: '2', engine: 'vllm' })
  await finished(engines, 'vllm')
  expect(engines.install(message).operation).toMatchObject({ id: '1', kind: 'install', state: 'done' })
  expect(engines.upgrade(message).operation).toMatchObject({ id: '1', kind: 'install' })
  expect(reportOf(engines, 'vllm')).toMatchObject({ state: 'missing', operation: { id: '2' } })
  expect(node.fetched).toBe(1)
})

test('what is done to one engine happens in order, to different engines at the same time', async () => {
  const order: string[] = []
  const gates = new Map<string, () => void>()
  const node = aNode({
    async fetchArchive(url) {
      const name = url.slice(url.lastIndexOf('/') + 1)
      order.push(`fetch ${name}`)
      await new Promise<void>((resolve) => gates.set(name, resolve))
      return { path: fileURLToPath(url), release: () => void order.push(`done ${name}`) }
    },
  })
  node.profile('mine')
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'a') })
  engines.upgrade({ command_id: '2', engine: 'vllm', archive: node.archive('b.tgz', 'b') })
  engines.install({ command_id: '3', engine: 'mine', archive: node.archive('c.tgz', 'c', 'mine-server') })
  await until(() => gates.size === 2)
  expect(order).toEqual(['fetch a.tgz', 'fetch c.tgz'])
  gates.get('c.tgz')!()
  await finished(engines, 'mine')
  expect(reportOf(engines, 'vllm').operation).toMatchObject({ id: '1', state: 'running' })
  gates.get('a.tgz')!()
  await until(() => gates.has('b.tgz'))
  gates.get('b.tgz')!()
  await finished(engines, 'vllm')
  expect(says(engines, 'vllm')).toBe('b')
  expect(order).toEqual(['fetch a.tgz', 'fetch c.tgz', 'done c.tgz', 'done a.tgz', 'fetch b.tgz', 'done b.tgz'])
})

test('too many operations on one engine are refused', () => {
  const engines = aNode({ fetchArchive: untilAborted }).open()
  const archive = { url: 'file:///x', sha256: 'a'.repeat(64) }
  for (let id = 0; id < 16; id += 1) engines.install({ command_id: `${id}`, engine: 'vllm', archive })
  expect(() => engines.install({ command_id: '16', engine: 'vllm', archive })).toThrow('16 operations')
})

test('progress is told, but not more than once a second', async () => {
  const clock = new VirtualClock(1_000_000)
  const { promise, resolve } = Promise.withResolvers<void>()
  const node = aNode({
    clock,
    async fetchArchive(url, _, { onProgress }) {
      for (let done = 0; done < 100; done += 1) {
        onProgress({ file: 'a.tgz', done_bytes: done, total_bytes: 100, bytes_per_s: null })
      }
      await promise
      return { path: fileURLToPath(url), release() {} }
    },
  })
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'x') })
  await until(() => reportOf(engines, 'vllm').operation?.progress?.done_bytes === 99)
  expect(node.changes).toBe(2)
  resolve()
  await finished(engines, 'vllm')
})

test('stopping the worker cancels what runs and leaves the old version', async () => {
  const node = aNode({
    fetchArchive: (url, sha256, hooks) =>
      url.endsWith('a.tgz')
        ? Promise.resolve({ path: fileURLToPath(url), release() {} })
        : untilAborted(url, sha256, hooks),
  })
  const engines = node.open()
  engines.install({ command_id: '1', engine: 'vllm', archive: node.archive('a.tgz', 'one') })
  await finished(engines, 'vllm')
  engines.upgrade({ command_id: '2', engine: 'vllm', archive: node.archive('b.tgz', 'two') })
  await engines.dispose()
  expect(reportOf(engines, 'vllm').operation).toMatchObject(failure('stopped in the middle'))
  expect(() => engines.remove({ command_id: '3', engine: 'vllm' })).toThrow('is stopping')
  expect(says(node.open(), 'vllm')).toBe('one')
})
