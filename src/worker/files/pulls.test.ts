import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ModelPullMessage } from '../../api/bus/messages.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { FileServer } from './file-server-suite.ts'
import { openModelFiles, stage } from './scene-suite.ts'
import { Pulls } from './pulls.ts'

const content = Buffer.alloc(1_000_000, 'weights')

function aPull(fields: Partial<ModelPullMessage> = {}): ModelPullMessage {
  return { pull_id: 'p1', model_name: 'm', source: null, options: {}, ...fields }
}

test('the files are there when it is done, and a start needs no more of them', async () => {
  const server = await FileServer.start()
  const source = server.put('/m.gguf', content)
  const files = await openModelFiles()
  const pulls = new Pulls(files, new VirtualClock())
  const message = aPull({ source })
  expect(pulls.pull(message)).toEqual({ id: 'p1', state: 'running', progress: null, error: null, bytes: null })
  await until(() => pulls.pull(message).state !== 'running')
  expect(pulls.pull(message)).toMatchObject({ state: 'done', bytes: content.length, error: null })
  const requests = server.requests.length
  const staged = await stage(files, { source })
  expect(sha256(readFileSync(staged.modelPath!))).toBe(sha256(content))
  expect(server.requests.length).toBe(requests)
})

test('to ask again is to ask how far it is: nothing is fetched twice', async () => {
  const server = await FileServer.start()
  const source = server.put('/m.gguf', content)
  let answer = (): void => {}
  server.behaviours.push((_request, response) => {
    answer = () => void response.writeHead(200, { 'content-length': content.length }).end(content)
  })
  const pulls = new Pulls(await openModelFiles(), new VirtualClock())
  for (let i = 0; i < 5; i += 1) expect(pulls.pull(aPull({ source })).state).toBe('running')
  expect(pulls.pull(aPull({ source, pull_id: 'p2' })).state).toBe('running')
  await until(() => server.requests.length > 0)
  answer()
  await until(() => pulls.pull(aPull({ source })).state === 'done')
  await until(() => pulls.pull(aPull({ source, pull_id: 'p2' })).state === 'done')
  expect(server.requests).toHaveLength(1)
})

test('what fails says why, and stays so until it is begun anew', async () => {
  const server = await FileServer.start()
  const source = `${server.url}/none.gguf`
  const pulls = new Pulls(await openModelFiles(), new VirtualClock())
  pulls.pull(aPull({ source }))
  await until(() => pulls.pull(aPull({ source })).state === 'failed')
  expect(pulls.pull(aPull({ source })).error).toContain('there is no such file (404)')
  server.put('/none.gguf', content)
  expect(pulls.pull(aPull({ source })).state).toBe('failed')
  expect(pulls.pull(aPull({ source, pull_id: 'p2' })).state).toBe('running')
  await until(() => pulls.pull(aPull({ source, pull_id: 'p2' })).state === 'done')
})

test('a worker that was restarted goes on where the files were left, by the same command', async () => {
  const server = await FileServer.start()
  const source = server.put('/m.gguf', content)
  const folder = tempFolder()
  server.behaviours.push((_request, response) => {
    const etag = server.files.get('/m.gguf')!.etag!
    response.writeHead(200, { 'content-length': content.length, etag, 'accept-ranges': 'bytes' })
    response.write(content.subarray(0, 600_000))
  })
  const before = await openModelFiles({ folder })
  const pulls = new Pulls(before, new VirtualClock())
  pulls.pull(aPull({ source }))
  await until(() => (pulls.pull(aPull({ source })).progress?.done_bytes ?? 0) >= 600_000)
  await before.dispose()
  await until(() => pulls.pull(aPull({ source })).state === 'failed')
  const after = new Pulls(await openModelFiles({ folder }), new VirtualClock())
  expect(after.pull(aPull({ source })).state).toBe('running')
  await until(() => after.pull(aPull({ source })).state === 'done')
  expect(server.requests.at(-1)?.range).toMatch(/^bytes=[1-9]/)
})

test('so many run at once and so many ends are remembered, no more and no longer', async () => {
  const clock = new VirtualClock()
  const { promise, resolve } = Promise.withResolvers<void>()
  let begun = 0
  const files = {
    async stage() {
      begun += 1
      await promise
      return { modelPath: undefined, options: {}, bytes: 0, release: () => {} }
    },
  }
  const pulls = new Pulls(files, clock)
  for (let i = 0; i < 32; i += 1) pulls.pull(aPull({ pull_id: `p${i}` }))
  expect(() => pulls.pull(aPull({ pull_id: 'one more' }))).toThrow('32 models are being fetched')
  resolve()
  await until(() => pulls.pull(aPull({ pull_id: 'p31' })).state === 'done')
  await clock.advance(10 * 60_000 + 1)
  pulls.pull(aPull({ pull_id: 'later' }))
  pulls.pull(aPull({ pull_id: 'p0' }))
  expect(begun).toBe(34)
})

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
