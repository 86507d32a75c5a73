import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { aNode, finished, reportOf } from './engines-suite.ts'

test('sim and command are always there; the others when their program is', () => {
  const node = aNode()
  const program = node.program('vllm')
  const engines = node.open()
  const states = Object.fromEntries(engines.report().map(({ name, state }) => [name, state]))
  expect(states).toEqual({
    sim: 'available',
    command: 'available',
    vllm: 'available',
    llama: 'installable',
    'llama-server': 'missing',
    sglang: 'missing',
    'whisper-server': 'missing',
    'text-embeddings-inference': 'missing',
    'mlx-lm': 'missing',
    ollama: 'missing',
  })
  expect(engines.program(engines.find('vllm')!)).toBe(program)
  expect(reportOf(engines, 'ollama').reason).toContain('The program "ollama" is not in PATH.')
})

test('what an engine takes of a node is reported, also while its program is missing', () => {
  const node = aNode()
  node.profile('broken', 'parallel: no\n')
  const engines = node.open()
  expect(reportOf(engines, 'vllm')).toMatchObject({
    memory: 'preallocated',
    uses: {
      device: 'gpu',
      share: { option: 'gpu_memory_utilization', default: 0.9 },
      devices_option: 'tensor_parallel_size',
    },
  })
  const sim = { memory: 'on_demand', uses: { device: 'cpu', bytes: 96 * 1024 ** 2, bytes_option: 'memory_bytes' } }
  expect(reportOf(engines, 'sim')).toMatchObject(sim)
  expect(reportOf(engines, 'broken')).toMatchObject({ memory: 'on_load', uses: { device: 'either' } })
})

test('a program that is a folder, or may not be run, is not there', () => {
  const node = aNode()
  mkdirSync(join(node.bin, 'vllm'))
  writeFileSync(join(node.bin, 'sglang'), '', { mode: 0o644 })
  const engines = node.open()
  expect(reportOf(engines, 'vllm').state).toBe('missing')
  expect(reportOf(engines, 'sglang').state).toBe('missing')
})

test('a program may be named by its absolute path', () => {
  const node = aNode()
  writeFileSync(
    join(node.profilesFolder, 'a.yaml'),
    `name: a\ncommand: [${join(node.root, 'x')}]\nready: { port: true }\n`,
  )
  const engines = node.open()
  expect(reportOf(engines, 'a')).toMatchObject({ state: 'missing', reason: expect.stringContaining('is not there') })
  writeFileSync(join(node.root, 'x'), '', { mode: 0o755 })
  engines.refresh(true)
  expect(reportOf(engines, 'a').state).toBe('available')
})

test('the disk is looked at again after ten seconds, not with every report', async () => {
  const clock = new VirtualClock(1000)
  const node = aNode({ clock })
  const engines = node.open()
  engines.report()
  node.program('vllm')
  node.profile('late')
  await clock.advance(9999)
  expect(reportOf(engines, 'vllm').state).toBe('missing')
  expect(engines.find('late')).toBeUndefined()
  await clock.advance(1)
  expect(reportOf(engines, 'vllm').state).toBe('available')
  expect(engines.find('late')?.name).toBe('late')
})

test('a broken profile is reported and cannot be used', async () => {
  const node = aNode()
  node.profile('vllm', 'parallel: no\n')
  const engines = node.open()
  expect(reportOf(engines, 'vllm')).toMatchObject({
    state: 'broken',
    source: 'user',
    reason: expect.stringContaining('vllm.yaml:4'),
  })
  expect(engines.find('vllm')).toBeUndefined()
  await expect(engines.ensure('vllm')).rejects.toThrow('has a mistake: vllm.yaml:4')
  expect(() => engines.install({ command_id: '1', engine: 'vllm' })).toThrow('has a mistake')
})

test('an engine that must be asked for is not installed by a replica that needs it, but by a word', async () => {
  const node = aNode()
  node.profile(
    'built',
    "install: { command: [sh, -c, 'echo > built-server; chmod 755 built-server'] }\ninstall_when: asked\n",
  )
  node.program('sh', '#!/bin/sh\nPATH=/usr/bin:/bin exec /bin/sh "$@"\n')
  const engines = node.open()
  expect(reportOf(engines, 'built')).toMatchObject({
    state: 'missing',
    reason: 'The program "built-server" is not in PATH. Install it on the node, or: flotilla engines install built',
  })
  await expect(engines.ensure('built')).rejects.toThrow('flotilla engines install built')
  engines.install({ command_id: '1', engine: 'built' })
  expect(await finished(engines, 'built')).toMatchObject({ state: 'available', operation: { state: 'done' } })
  expect(await engines.ensure('built')).toContain('built-server')
})
