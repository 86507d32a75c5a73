import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { bytes, FileServer, sha256Of, stallAfter } from './file-server-suite.ts'
import { listing, openModelFiles, stage } from './scene-suite.ts'

const KIB = 1024

/** Stages in a process of its own and kills it with SIGKILL as soon as its output satisfies the condition. */
async function stageAndKill(folder: string, source: string, isTime: (output: string) => boolean): Promise<string> {
  const script = join(import.meta.dirname, 'kill-process-suite.ts')
  const child = spawn(process.execPath, [script, folder, source], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await until(() => isTime(output) || child.exitCode !== null)
  child.kill('SIGKILL')
  await ended
  return output
}

test('a process that is killed in the middle of a transfer leaves a part that the next one goes on with', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const body = bytes(500 * KIB)
  const source = server.put('/f.gguf', body)
  server.behaviours.push(stallAfter(200 * KIB))
  await stageAndKill(folder, source, (output) => output.includes(`${200 * KIB}\n`))
  expect(listing(folder, 'blobs')).toEqual([])
  expect(listing(folder, 'trees')).toEqual([])
  const staged = await stage(await openModelFiles({ folder }), { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(server.ranges('/f.gguf')).toEqual([undefined, `bytes=${200 * KIB}-`])
  expect(listing(folder, 'partial')).toEqual([])
})

test('killed between two files of a model, the next run fetches only what is missing', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const names = ['x-00001-of-00002.gguf', 'x-00002-of-00002.gguf']
  for (const name of names) server.put(`/${name}`, bytes(100 * KIB, name))
  const source = `${server.url}/${names[0]}`
  // Whichever file is asked for first stands still; the other one arrives and is committed.
  server.behaviours.push(stallAfter(10 * KIB))
  await stageAndKill(folder, source, () => {
    return listing(folder, 'blobs').length === 1 && listing(folder, 'partial').length === 3
  })
  server.requests.length = 0
  const staged = await stage(await openModelFiles({ folder }), { source })
  expect(staged.bytes).toBe(200 * KIB)
  expect(server.requests).toHaveLength(1)
  const digests = names.map((name) => `sha256-${sha256Of(bytes(100 * KIB, name))}`)
  expect(listing(folder, 'blobs')).toEqual(digests.toSorted())
})

test('killed at any moment, nothing half is ever seen under its final name', async () => {
  const server = await FileServer.start()
  const body = bytes(3000 * KIB)
  const source = server.put('/f.gguf', body)
  for (const after of [/^\d+\n/, /\d{3,}\n/, /staged/]) {
    const folder = tempFolder()
    await stageAndKill(folder, source, (output) => after.test(output))
    for (const blob of listing(folder, 'blobs')) {
      expect(`sha256-${sha256Of(readFileSync(join(folder, 'blobs', blob)))}`).toBe(blob)
    }
    const files = await openModelFiles({ folder })
    expect(readFileSync((await stage(files, { source })).modelPath!).equals(body)).toBe(true)
    expect(listing(folder, 'partial')).toEqual([])
  }
})
