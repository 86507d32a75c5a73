import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/platform/run/clock.ts'
import { silentLogger } from '../../../src/platform/run/log.ts'
import { llamaLibrary } from '../../../test/support/worker/llama-engine.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { Engines } from '../../../src/worker/engines/engines.ts'
import { LIBRARY_FILE } from './install-library.ts'

function enginesWith(path: string): Engines {
  const root = tempFolder()
  const engines = Engines.open({
    folder: join(root, 'engines'),
    profilesFolder: join(root, 'profiles'),
    fetchArchive: () => Promise.reject(new Error('no archive is needed')),
    stopReplicas: () => Promise.resolve({ stopped: [], survivors: [] }),
    clock: systemClock,
    log: silentLogger,
    onChange: () => {},
    env: { ...process.env, PATH: path },
  })
  onTestFinished(() => engines.dispose())
  return engines
}

test('a node installs the engine when it is needed, tells how far it is, and has it afterwards', async () => {
  // Also fills npm's cache, and the limit of this test is for what comes from there.
  await llamaLibrary()
  const engines = enginesWith(process.env['PATH'] ?? '')
  expect(engines.report().find(({ name }) => name === 'llama')).toMatchObject({ state: 'installable' })
  const told = new Set<string>()
  const program = await engines.ensure('llama', { onProgress: ({ file }) => told.add(file ?? '') })
  expect(program.endsWith(LIBRARY_FILE)).toBe(true)
  expect([...told]).toEqual(expect.arrayContaining([expect.stringContaining('117 packages'), 'trying it out']))
  expect(engines.report().find(({ name }) => name === 'llama')).toMatchObject({ state: 'available' })
  // From what is there llama.cpp can be built as well.
  expect(existsSync(join(program, '../node_modules/node-llama-cpp/llama/gitRelease.bundle'))).toBe(true)
  expect(readFileSync(program, 'utf8')).toContain('node-llama-cpp')
}, 300_000)

test('without npm the reason says so, and nothing is left behind', async () => {
  const engines = enginesWith('/nowhere')
  await expect(engines.ensure('llama')).rejects.toThrow('npm is not in PATH')
  expect(engines.report().find(({ name }) => name === 'llama')).toMatchObject({
    state: 'installable',
    operation: { state: 'failed' },
  })
})
