import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { FolderView } from '../../../../api/admin/schemas.ts'
import { aStage, type Stage } from '../../../../../test/support/control/admin-stage.ts'
import { signatureOf, type Applicant } from '../../../../../test/support/control/control-scene.ts'
import { tempFolder } from '../../../../../test/support/temp-folder.ts'
import { until } from '../../../../../test/support/until.ts'

/** A frontend with these files below its models folder. */
async function aShelf(files: Record<string, string | Buffer> = { 'm.gguf': '0123456789' }) {
  const stage = await aStage()
  for (const [name, content] of Object.entries(files)) write(stage, name, content)
  const pathOf = (name: string, { nodeId } = stage.thor) => `/api/node/${nodeId}/files/${encodeURIComponent(name)}`
  const get = (name: string, headers: Record<string, string> = {}, who: Applicant = stage.thor) =>
    fetchRaw(stage, pathOf(name, who), who, headers)
  return { ...stage, get, pathOf }
}

function write({ models }: Stage, name: string, content: string | Buffer): string {
  const path = join(models, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  return path
}

/** Not by `fetch`, which would tidy the path up. */
function fetchRaw({ scene }: Stage, path: string, who: Applicant, headers: Record<string, string>) {
  const authorization = signatureOf(who, 'GET', path, Date.now())
  const { hostname: host, port } = new URL(scene.url)
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; bytes: Buffer }>((resolve, reject) => {
    const outgoing = request({ host, port, path, headers: { authorization, ...headers }, agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.once('error', reject)
      answer.once('end', () =>
        resolve({ status: answer.statusCode!, headers: answer.headers, bytes: Buffer.concat(chunks) }),
      )
    })
    outgoing.once('error', reject).end()
  })
}

/** More than the buffers of a connection hold: a reader that stops reading stops the sender. */
const LARGE = Buffer.alloc(64 * 1024 * 1024)

/** An answer of which nothing has been read yet. */
function begin({ scene, thor }: Stage, path: string): Promise<IncomingMessage> {
  const { hostname: host, port } = new URL(scene.url)
  const headers = { authorization: signatureOf(thor, 'GET', path, Date.now()) }
  return new Promise((resolve, reject) => {
    request({ host, port, path, headers, agent: false }, (answer) => resolve(answer.on('error', () => {})))
      .on('error', reject)
      .end()
  })
}

/** Of this process. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
}

describe('a node gets a file of the frontend', () => {
  test('whole, with what it needs to go on later', async () => {
    const { get } = await aShelf()
    const { status, headers, bytes } = await get('m.gguf')
    expect([status, bytes.toString()]).toEqual([200, '0123456789'])
    expect(headers).toMatchObject({
      'content-length': '10',
      'content-type': 'application/octet-stream',
      'accept-ranges': 'bytes',
      etag: expect.stringMatching(/^"a-/),
    })
  })

  test('in parts, which make the whole', async () => {
    const content = Buffer.from(Array.from({ length: 1_000_000 }, (_, i) => i % 251))
    const { get } = await aShelf({ 'org/m.gguf': content })
    const parts: Buffer[] = []
    for (let first = 0; first < content.length; first += 300_001) {
      const { status, headers, bytes } = await get('org/m.gguf', { range: `bytes=${first}-${first + 300_000}` })
      expect(status).toBe(206)
      expect(headers['content-range']).toBe(`bytes ${first}-${first + bytes.length - 1}/1000000`)
      parts.push(bytes)
    }
    expect(Buffer.concat(parts).equals(content)).toBe(true)
  })

  test('a part beyond the end is not there', async () => {
    const { get } = await aShelf()
    expect(await get('m.gguf', { range: 'bytes=10-' })).toMatchObject({
      status: 416,
      headers: { 'content-range': 'bytes */10' },
    })
  })

  test('a part of another version is not given: the file comes whole', async () => {
    const { get, models } = await aShelf()
    const { etag } = (await get('m.gguf')).headers
    const part = { range: 'bytes=5-', 'if-range': String(etag) }
    expect(await get('m.gguf', part)).toMatchObject({ status: 206, bytes: Buffer.from('56789') })
    utimesSync(join(models, 'm.gguf'), 1, 1)
    expect(await get('m.gguf', part)).toMatchObject({ status: 200, bytes: Buffer.from('0123456789') })
  })

  test('an empty file is a file', async () => {
    const { get } = await aShelf({ empty: '' })
    expect(await get('empty')).toMatchObject({
      status: 200,
      headers: { 'content-length': '0' },
      bytes: Buffer.alloc(0),
    })
  })

  test('whatever its name is', async () => {
    const name = 'org #1/100% модель 🚢/a+b c.gguf'
    const { get } = await aShelf({ [name]: 'yes' })
    expect((await get(name)).bytes.toString()).toBe('yes')
  })

  test('that becomes shorter while it is sent is cut off, not ended as if whole', async () => {
    const stage = await aShelf({ 'm.gguf': LARGE })
    const answer = await begin(stage, stage.pathOf('m.gguf'))
    expect(answer.headers['content-length']).toBe(String(LARGE.length))
    truncateSync(join(stage.models, 'm.gguf'), 1000)
    answer.resume()
    await expect(once(answer, 'end')).rejects.toThrow('aborted')
    expect(answer.complete).toBe(false)
  })
})

describe('nothing else is given', () => {
  test('by no name that leads elsewhere, or to nothing', async () => {
    const { get } = await aShelf()
    for (const name of [
      '../flotilla.db',
      '..',
      'a/../../flotilla.db',
      'a/../m.gguf',
      '/etc/passwd',
      '//etc/passwd',
      '..\\flotilla.db',
      'm.gguf/',
      'm.gguf/x',
      'nothing',
      'm.gguf\0',
      '\0',
      'x'.repeat(5000),
    ]) {
      const { status, bytes } = await get(name)
      expect([name, status, bytes.toString()]).toEqual([name, 404, expect.stringContaining('not_found')])
    }
  })

  test('a link that leads out, to a file or through a folder', async () => {
    const { get, models } = await aShelf({ 'm.gguf': 'x', 'kept/real.gguf': 'real' })
    const outside = tempFolder()
    writeFileSync(join(outside, 'secret'), 'secret')
    symlinkSync(join(outside, 'secret'), join(models, 'file-link'))
    symlinkSync(outside, join(models, 'folder-link'))
    symlinkSync('kept/real.gguf', join(models, 'inner-link'))
    symlinkSync('loop', join(models, 'loop'))
    for (const name of ['file-link', 'folder-link/secret', 'folder-link', 'loop']) {
      expect((await get(name)).status, name).toBe(404)
    }
    expect((await get('inner-link')).bytes.toString()).toBe('real')
    const { bytes } = await get('.')
    const { files } = JSON.parse(bytes.toString()) as FolderView
    expect(files.map(({ path }) => path)).toEqual(['inner-link', 'kept/real.gguf', 'm.gguf'])
  })

  test('a folder next to it whose name begins the same', async () => {
    const { get, models } = await aShelf()
    mkdirSync(`${models}-private`)
    writeFileSync(join(`${models}-private`, 'x'), 'x')
    symlinkSync(`${models}-private/x`, join(models, 'x'))
    expect((await get('x')).status).toBe(404)
  })

  test('what is not a file: a pipe does not block the call', async () => {
    const { get, models } = await aShelf()
    execFileSync('mkfifo', [join(models, 'pipe')])
    expect((await get('pipe')).status).toBe(404)
  })

  test('to a node that is pending, or to another one', async () => {
    const { get, thor, loki } = await aShelf()
    expect((await get('m.gguf', {}, loki)).status).toBe(403)
    expect((await get('m.gguf', {}, { ...loki, nodeId: thor.nodeId })).status).toBe(403)
  })

  test('for a signature over another file', async () => {
    const stage = await aShelf({ 'a.gguf': 'a', 'b.gguf': 'b' })
    const authorization = signatureOf(stage.thor, 'GET', stage.pathOf('a.gguf'), Date.now())
    expect((await stage.get('b.gguf', { authorization })).status).toBe(403)
    expect((await stage.get('a.gguf', { authorization })).status).toBe(200)
  })

  test('when there is no folder at all', async () => {
    const { get } = await aShelf({})
    expect((await get('m.gguf')).status).toBe(404)
  })
})

describe('a folder', () => {
  test('is a list of its files at any depth, from it on', async () => {
    const { get } = await aShelf({ 'org/repo/b.json': '{}', 'org/repo/a/w.bin': '1234', 'org/other': 'x' })
    const { status, bytes } = await get('org/repo')
    expect(status).toBe(200)
    expect(JSON.parse(bytes.toString())).toEqual({
      files: [
        { path: 'a/w.bin', size: 4 },
        { path: 'b.json', size: 2 },
      ],
    })
  })

  test('of too many files is refused', async () => {
    const stage = await aShelf()
    mkdirSync(join(stage.models, 'many'))
    for (let i = 0; i < 10_001; i += 1) writeFileSync(join(stage.models, 'many', String(i)), '')
    const { status, bytes } = await stage.get('many')
    expect([status, bytes.toString()]).toEqual([413, expect.stringContaining('more than 10000 files')])
  })

  test('the models folder may be a link to another disk', async () => {
    const { get, models } = await aShelf()
    const elsewhere = join(tempFolder(), 'models')
    renameSync(models, elsewhere)
    symlinkSync(elsewhere, models)
    expect((await get('m.gguf')).status).toBe(200)
  })
})

test('a reader that goes leaves no open file behind', async () => {
  const stage = await aShelf({ 'm.gguf': LARGE })
  const path = join(stage.models, 'm.gguf')
  const answer = await begin(stage, stage.pathOf('m.gguf'))
  expect(openFiles()).toContain(path)
  answer.destroy()
  await until(() => !openFiles().includes(path))
})
