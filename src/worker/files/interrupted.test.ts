import { readFileSync, statSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import {
  answer,
  bytes,
  cutAfter,
  FileServer,
  ignoreRange,
  serveFile,
  sha256Of,
  stallAfter,
} from './file-server-suite.ts'
import { listing, openModelFiles, stage } from './scene-suite.ts'

const KIB = 1024

test('a file is fetched, verified and found under its own name', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const body = bytes(300 * KIB)
  const source = server.put('/models/tiny.gguf', body)
  const files = await openModelFiles({ folder })
  const staged = await stage(files, { source: `${source}#sha256=${sha256Of(body)}` })
  expect(staged.modelPath).toMatch(/\/trees\/[0-9a-f]{32}\/tiny\.gguf$/)
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(staged.bytes).toBe(body.length)
  expect(listing(folder, 'blobs')).toEqual([`sha256-${sha256Of(body)}`])
  expect(listing(folder, 'partial')).toEqual([])
  expect(statSync(join(folder, 'blobs', `sha256-${sha256Of(body)}`)).mode & 0o777).toBe(0o444)
})

test('what is here is not fetched again, also by the next run and without a network', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const source = server.put('/f.gguf', bytes(10))
  const files = await openModelFiles({ folder })
  const first = await stage(files, { source })
  expect((await stage(files, { source, modelName: 'other' })).modelPath).toBe(first.modelPath)
  await files.dispose()
  await server.stop()
  const next = await openModelFiles({ folder })
  expect((await stage(next, { source })).modelPath).toBe(first.modelPath)
  expect(server.requests).toHaveLength(1)
})

test('an interrupted transfer goes on where it was, if the file is still the same', async () => {
  const server = await FileServer.start()
  const body = bytes(200 * KIB)
  const source = server.put('/f.gguf', body, { etag: '"one"' })
  server.behaviours.push(cutAfter(50 * KIB), cutAfter(20 * KIB))
  const staged = await stage(await openModelFiles(), { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(server.ranges('/f.gguf')).toEqual([undefined, `bytes=${50 * KIB}-`, `bytes=${70 * KIB}-`])
  expect(server.requests.map(({ ifRange }) => ifRange)).toEqual([undefined, '"one"', '"one"'])
})

test('without an etag the date of the file is what it must still be', async () => {
  const server = await FileServer.start()
  const body = bytes(100 * KIB)
  const lastModified = 'Mon, 02 Jun 2025 10:00:00 GMT'
  const source = server.put('/f.gguf', body, { lastModified })
  server.behaviours.push(cutAfter(40 * KIB))
  const staged = await stage(await openModelFiles(), { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(server.requests[1]).toMatchObject({ range: `bytes=${40 * KIB}-`, ifRange: lastModified })
})

test('with nothing to tell one version from another it begins again, unless the digest is known', async () => {
  const server = await FileServer.start()
  const body = bytes(100 * KIB)
  const source = server.put('/f.gguf', body, {})
  server.behaviours.push(cutAfter(40 * KIB))
  const staged = await stage(await openModelFiles(), { source: `${source}#sha256=${sha256Of(body)}` })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(server.ranges('/f.gguf')).toEqual([undefined, `bytes=${40 * KIB}-`])

  const folder = tempFolder()
  server.behaviours.push(cutAfter(40 * KIB), answer(404))
  await expect(stage(await openModelFiles({ folder }), { source })).rejects.toMatchObject({ code: 'not_found' })
  expect(listing(folder, 'partial')).toEqual([])
})

test('a failed transfer is taken up by a later start', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const body = bytes(100 * KIB)
  const source = server.put('/f.gguf', body)
  server.behaviours.push(cutAfter(30 * KIB), answer(503), answer(502), answer(500))
  const files = await openModelFiles({ folder })
  await expect(stage(files, { source })).rejects.toThrow(/Cannot fetch .*\/f\.gguf: the server answered 500 \(3 tries/)
  await files.dispose()
  const staged = await stage(await openModelFiles({ folder }), { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(server.ranges('/f.gguf').at(-1)).toBe(`bytes=${30 * KIB}-`)
})

test('a file that changes in the middle is fetched anew', async () => {
  const server = await FileServer.start()
  const body = bytes(80 * KIB, 'new')
  const source = server.put('/f.gguf', bytes(100 * KIB, 'old'))
  server.behaviours.push((request, response, file) => {
    cutAfter(40 * KIB)(request, response, file)
    server.put('/f.gguf', body)
  })
  const staged = await stage(await openModelFiles(), { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(staged.bytes).toBe(body.length)
})

test('a rest that belongs to another version is not glued to what is here', async () => {
  const server = await FileServer.start()
  const body = bytes(100 * KIB, 'new')
  const source = server.put('/f.gguf', bytes(100 * KIB, 'old'), { etag: 'W/"1"' })
  server.behaviours.push((request, response, file) => {
    cutAfter(40 * KIB)(request, response, file)
    server.put('/f.gguf', body, { etag: 'W/"2"' })
  })
  const staged = await stage(await openModelFiles(), { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(server.ranges('/f.gguf')).toEqual([undefined, `bytes=${40 * KIB}-`, undefined])
})

test('a server that answers a range with the whole file is obeyed', async () => {
  const server = await FileServer.start()
  const body = bytes(100 * KIB)
  const source = server.put('/f.gguf', body)
  server.behaviours.push(cutAfter(40 * KIB), ignoreRange)
  const staged = await stage(await openModelFiles(), { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(server.ranges('/f.gguf')).toEqual([undefined, `bytes=${40 * KIB}-`])
})

test('a server that begins again each time is not followed for ever', async () => {
  const server = await FileServer.start()
  const source = server.put('/f.gguf', bytes(100 * KIB))
  const restart = (): void => {
    server.behaviours.push((request, response, file) => {
      restart()
      delete request.headers.range
      cutAfter(40 * KIB)(request, response, file)
    })
  }
  restart()
  await expect(stage(await openModelFiles(), { source })).rejects.toThrow('3 tries in a row')
})

test('a server that dies and comes back is waited for', async () => {
  const server = await FileServer.start()
  const body = bytes(100 * KIB)
  const source = server.put('/f.gguf', body)
  server.behaviours.push(stallAfter(40 * KIB))
  const limits = { retry: { mostTries: 1000, firstDelayMs: 5, mostDelayMs: 5 } }
  const told: number[] = []
  const staging = stage(
    await openModelFiles({ limits }),
    { source },
    { onProgress: ({ done_bytes: done }) => void told.push(done) },
  )
  await until(() => told.includes(40 * KIB))
  await server.stop()
  await server.restart()
  expect(readFileSync((await staging).modelPath!).equals(body)).toBe(true)
  expect(server.ranges('/f.gguf').at(-1)).toBe(`bytes=${40 * KIB}-`)
})

test('a connection that brings nothing any more is cut and taken up again', async () => {
  const server = await FileServer.start()
  const body = bytes(100 * KIB)
  const source = server.put('/f.gguf', body)
  server.behaviours.push(stallAfter(40 * KIB), () => {}, serveFile)
  const staged = await stage(await openModelFiles({ limits: { stallMs: 100 } }), { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(server.ranges('/f.gguf').slice(0, 2)).toEqual([undefined, `bytes=${40 * KIB}-`])
})

test('a file that is not what it should be is deleted, and both digests are named', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const body = bytes(1000, 'corrupted')
  const wanted = sha256Of(bytes(1000))
  const source = `${server.put('/f.gguf', body)}#sha256=${wanted}`
  const files = await openModelFiles({ folder })
  const failure = stage(files, { source })
  await expect(failure).rejects.toThrow(`its sha256 is ${sha256Of(body)} and should be ${wanted}`)
  expect(listing(folder, 'partial')).toEqual([])
  expect(listing(folder, 'blobs')).toEqual([])
  server.put('/f.gguf', bytes(1000))
  expect((await stage(files, { source })).bytes).toBe(1000)
})

test('everything arrived, but the end was lost: it is not fetched again', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const body = bytes(100 * KIB)
  const source = server.put('/f.gguf', body, { etag: '"x"' })
  server.behaviours.push(cutAfter(60 * KIB), answer(404))
  const first = await openModelFiles({ folder })
  await expect(stage(first, { source })).rejects.toThrow('404')
  await first.dispose()
  const part = listing(folder, 'partial').find((name) => name.endsWith('.part'))
  writeFileSync(join(folder, 'partial', part!), body)
  server.requests.length = 0
  const staged = await stage(await openModelFiles({ folder }), { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(server.requests).toEqual([])
})

test('a part that is longer than the file, or without its record, is thrown away', async () => {
  const server = await FileServer.start()
  const body = bytes(100 * KIB)
  const source = server.put('/f.gguf', body)
  for (const spoil of ['too long', 'no record']) {
    const folder = tempFolder()
    server.behaviours.push(cutAfter(60 * KIB), answer(404))
    const first = await openModelFiles({ folder })
    await expect(stage(first, { source })).rejects.toThrow('404')
    await first.dispose()
    const [record, part] = listing(folder, 'partial').map((name) => join(folder, 'partial', name))
    if (spoil === 'too long') writeFileSync(part!, bytes(200 * KIB))
    else writeFileSync(record!, '{"half a rec')
    const staged = await stage(await openModelFiles({ folder }), { source })
    expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
    expect(server.ranges('/f.gguf').at(-1)).toBeUndefined()
  }
})

test('a server that does not say how long the file is can still deliver it', async () => {
  const server = await FileServer.start()
  const body = bytes(100 * KIB)
  const source = server.put('/f.gguf', body)
  const chunked = (cut: boolean) => (_: unknown, response: ServerResponse) => {
    response.writeHead(200, { etag: '"c"' })
    response.write(body.subarray(0, 50 * KIB), () => (cut ? response.destroy() : response.end(body.subarray(50 * KIB))))
  }
  server.behaviours.push(chunked(true), answer(200, { 'content-length': '0', etag: '"d"' }))
  expect((await stage(await openModelFiles(), { source })).bytes).toBe(0)
  server.behaviours.push(chunked(false))
  const staged = await stage(await openModelFiles(), { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
})

test.for([
  [404, 'not_found', 'there is no such file (404)'],
  [410, 'not_found', 'there is no such file (410)'],
  [401, 'bad_gateway', 'access was refused (401)'],
  [403, 'bad_gateway', 'access was refused (403)'],
  [418, 'bad_gateway', 'the server answered 418'],
] as const)('%i ends it at once, with a message without secrets', async ([status, code, text]) => {
  const server = await FileServer.start()
  server.behaviours.push(answer(status))
  const source = `http://user:hunter2@${server.host}/a/f.gguf?signature=hunter3`
  const failure = stage(await openModelFiles(), { source })
  await expect(failure).rejects.toMatchObject({ code })
  const message = await failure.catch((error: Error) => error.message)
  expect(message).toContain(text)
  expect(message).toContain(`${server.host}/a/f.gguf`)
  expect(message).not.toMatch(/hunter/)
  expect(server.requests).toHaveLength(1)
})

test('a server that is busy is asked again, and its wish to wait is heard', async () => {
  const server = await FileServer.start()
  const source = server.put('/f.gguf', bytes(10))
  server.behaviours.push(answer(429, { 'retry-after': '0' }), answer(503, { 'retry-after': new Date(0).toUTCString() }))
  expect((await stage(await openModelFiles(), { source })).bytes).toBe(10)
  expect(server.requests).toHaveLength(3)
})
