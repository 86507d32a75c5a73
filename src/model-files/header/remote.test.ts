import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openReach } from '../source/reach.ts'
import { resolveUrl } from '../source/resolve.ts'
import { parseSource, type UrlSource } from '../source/source.ts'
import { systemClock } from '../../platform/run/clock.ts'
import type { Handler } from '../../http/server.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { serve } from '../../../test/support/http/http.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { remoteBytes } from './byte-source.ts'
import { inspectModel } from './inspect.ts'
import { publishedModels } from './testing/published-models.ts'
import { writeGguf } from './testing/write-gguf.ts'

const never = new AbortController().signal
const limits = { mostTries: 2, firstDelayMs: 1, mostDelayMs: 2 }

/** 3 MB of header, so that it takes several requests, and weights that nobody asks for. */
function aModel(): Buffer {
  const path = join(tempFolder(), 'model.gguf')
  const metadata = { ...publishedModels[0]!.metadata, 'tokenizer.ggml.tokens': { length: 200_000 } }
  const tensors = [{ name: 'blk.0.attn_q.weight', bytes: 8_000_000 }]
  writeGguf(path, { metadata, tensors })
  return readFileSync(path)
}

function inspect(url: string, { signal = never, stallMs = 10_000, options = {} } = {}) {
  const reach = openReach(['127.0.0.1'])
  const deps = { clock: systemClock, log: silentLogger, random: () => 0.5, limits, stallMs, reach }
  const find = async (text: string) =>
    resolveUrl(parseSource(text) as UrlSource).files.map((file) => ({
      path: file.path,
      bytes: remoteBytes(file, deps),
    }))
  return inspectModel({ source: url, options }, find, signal)
}

/** A file server with ranges, which counts what it sends. */
function withRanges(content: Buffer): { handler: Handler; sent: () => number } {
  let sent = 0
  const handler: Handler = async (request, response) => {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const part = content.subarray(Number(from), Number(to) + 1)
    sent += part.length
    const range = `bytes ${from}-${Number(from) + part.length - 1}/${content.length}`
    response.writeHead(206, { 'content-range': range, 'content-length': part.length })
    response.end(part)
  }
  return { handler, sent: () => sent }
}

test('a header elsewhere is read in ranges, and none of the weights are', async () => {
  const content = aModel()
  const { handler, sent } = withRanges(content)
  const { header, bytes } = await inspect(`${await serve(handler)}/model.gguf`)
  expect(header).toMatchObject({ layers: 32, vocabulary: 200_000, weightsBytes: 8_000_000 })
  expect(bytes).toBe(content.length)
  expect(sent()).toBeLessThan(content.length / 2 + 1_000_000)
})

test('a server that ignores ranges is read from the beginning and cut off', async () => {
  const content = aModel()
  const url = await serve(async (_request, response) => {
    response.writeHead(200, { 'content-length': content.length })
    response.end(content)
  })
  const { header, bytes } = await inspect(`${url}/model.gguf`)
  expect(header).toMatchObject({ layers: 32, vocabulary: 200_000, weightsBytes: 8_000_000 })
  expect(bytes).toBe(content.length)
})

test('a file of a kind without a header counts with its size alone', async () => {
  const { handler } = withRanges(Buffer.alloc(5000))
  expect(await inspect(`${await serve(handler)}/speech.bin`)).toEqual({ bytes: 5000, besideBytes: 0, header: null })
})

test('how much there is to fetch stays open when a server does not say', async () => {
  const url = await serve(async (_request, response) => {
    response.writeHead(200)
    response.write('some')
    response.end(' text')
  })
  expect(await inspect(`${url}/speech.bin`)).toMatchObject({ bytes: null, header: null })
  await expect(inspect(`${url}/model.gguf`)).rejects.toThrow('is not a GGUF file')
  const content = aModel()
  const chunked = await serve(async (_request, response) => {
    response.writeHead(200)
    response.write(content.subarray(0, 4))
    response.end(content.subarray(4))
  })
  await expect(inspect(`${chunked}/model.gguf`)).rejects.toMatchObject({ code: 'bad_gateway' })
})

test('what the options name goes with the model', async () => {
  const content = aModel()
  const url = await serve(withRanges(content).handler)
  const { header, bytes } = await inspect(`${url}/model.gguf`, { options: { mmproj: `${url}/mmproj.gguf` } })
  expect(header?.projectorBytes).toBe(content.length)
  expect(bytes).toBe(2 * content.length)
})

test.each([
  [404, 'not_found', 'there is no such file (404)'],
  [401, 'bad_gateway', 'access was refused (401)'],
  [418, 'bad_gateway', 'the server answered 418'],
  [500, 'unavailable', 'the server answered 500 (2 tries in a row)'],
])('an answer %i is told as what it means, without what is secret in the address', async (status, code, text) => {
  const url = new URL(
    `${await serve(async (_request, response) => {
      response.writeHead(status)
      response.end()
    })}/model.gguf?signature=hidden`,
  )
  url.username = 'user'
  url.password = 'hidden'
  const error = await inspect(url.href).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code, message: expect.stringContaining(text) })
  expect((error as Error).message).not.toMatch(/hidden|user/)
})

test('a page that is no model is refused', async () => {
  const url = await serve(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end('<!doctype html><title>Please sign in to go on</title>')
  })
  await expect(inspect(`${url}/model.gguf`)).rejects.toThrow('is not a GGUF file')
})

test('a server that says nothing is left after a while', async () => {
  const url = await serve(() => new Promise(() => {}))
  await expect(inspect(`${url}/model.gguf`, { stallMs: 50 })).rejects.toMatchObject({ code: 'unavailable' })
})

test('reading ends when nobody wants it any more', async () => {
  const stop = new AbortController()
  const url = await serve(() => {
    stop.abort(new Error('enough'))
    return new Promise(() => {})
  })
  await expect(inspect(`${url}/model.gguf`, { signal: stop.signal })).rejects.toThrow('enough')
})
