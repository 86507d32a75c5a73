import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { openDashboard } from './dashboard-files.ts'
import { request as httpRequest } from '../../http/server/node-http.ts'
import { serve } from '../../../test/support/http/http.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'

const SCRIPT = 'document.title = "hello"\n'.repeat(100)
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

/** A dashboard as the build leaves it, on a server where everything else is a 418. */
async function aDashboard({ isBuilt = true } = {}) {
  const root = tempFolder()
  const folder = join(root, 'dist')
  writeFileSync(join(root, 'secret.txt'), 'secret')
  const build = (page = '<!doctype html>page'): void => {
    mkdirSync(join(folder, 'assets'), { recursive: true })
    mkdirSync(join(folder, '.next'), { recursive: true })
    writeFileSync(join(folder, 'index.html'), page)
    writeFileSync(join(folder, 'icon.svg'), '<svg/>')
    writeFileSync(join(folder, '.built'), '{}')
    writeFileSync(join(folder, '.next/half.js'), 'half')
    writeFileSync(join(folder, 'assets/app-1a2b.js'), SCRIPT)
    writeFileSync(join(folder, 'assets/app-1a2b.js.br'), brotliCompressSync(SCRIPT))
    writeFileSync(join(folder, 'assets/app-1a2b.js.gz'), gzipSync(SCRIPT))
  }
  if (isBuilt) build()
  const dashboard = openDashboard(folder)
  const url = await serve((request, response) => {
    if (!dashboard(request, response)) response.writeHead(418).end()
  })
  return { url, folder, build, get: (path: string, headers = {}, method = 'GET') => get(url, path, headers, method) }
}

interface Got {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** The path goes out as it stands, dots and all, and nothing is unpacked on the way. */
function get(url: string, path: string, headers: Record<string, string>, method: string): Promise<Got> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    httpRequest({ hostname, port, path, method, headers, agent: false }, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(pieces) }),
      )
    })
      .on('error', reject)
      .end()
  })
}

test('the page is asked for again each time, and sent when it has changed', async () => {
  const { get, build, folder } = await aDashboard()
  const first = await get('/')
  expect(first).toMatchObject({
    status: 200,
    headers: { 'cache-control': 'no-cache', 'content-type': 'text/html; charset=utf-8' },
  })
  const etag = String(first.headers['etag'])
  for (const known of [etag, `W/${etag}`, `"x", ${etag}`]) {
    const again = await get('/', { 'if-none-match': known })
    expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, etag])
  }
  build('<!doctype html>another')
  utimesSync(join(folder, 'index.html'), 1, 1)
  const changed = await get('/', { 'if-none-match': etag })
  expect([changed.status, changed.body.toString()]).toEqual([200, '<!doctype html>another'])
})

test('every answer forbids what the page does not need', async () => {
  const { get } = await aDashboard()
  for (const path of ['/', '/assets/app-1a2b.js', '/icon.svg']) {
    const { headers } = await get(path)
    const policy = String(headers['content-security-policy'])
    for (const part of ["script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
      expect(policy.split('; ')).toContain(part)
    }
    expect(policy).not.toContain('unsafe')
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    })
  }
})

test('files whose names change with them are kept for ever, in the smallest form that the client takes', async () => {
  const { get } = await aDashboard()
  const plain = await get('/assets/app-1a2b.js')
  expect(plain.headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
    vary: 'accept-encoding',
  })
  expect([plain.headers['content-encoding'], plain.body.toString()]).toEqual([undefined, SCRIPT])
  const packed = await get('/assets/app-1a2b.js', { 'accept-encoding': 'gzip, deflate, br' })
  expect([packed.headers['content-encoding'], brotliDecompressSync(packed.body).toString()]).toEqual(['br', SCRIPT])
  const zipped = await get('/assets/app-1a2b.js', { 'accept-encoding': 'br;q=0, GZIP;q=0.5' })
  expect([zipped.headers['content-encoding'], gunzipSync(zipped.body).toString()]).toEqual(['gzip', SCRIPT])
  expect(new Set([plain, packed, zipped].map(({ headers }) => headers['etag'])).size).toBe(3)
})

test('a person who opens an address of the dashboard gets the page, whatever names are in it', async () => {
  const { get } = await aDashboard()
  for (const path of [
    '/nodes/gpu-1',
    '/models/qwen2.5',
    '/models/org%2Fm',
    '/sign-in',
    '/nodes?sort=name',
    '/x/../y',
  ]) {
    expect((await get(path, html)).body.toString(), path).toBe('<!doctype html>page')
  }
})

test('everything else is for others to answer', async () => {
  const { get } = await aDashboard()
  for (const path of ['/nodes/gpu-1', '/sign-in', '/unknown']) expect((await get(path)).status, path).toBe(418)
  for (const path of ['/v1', '/v1/models', '/api/nodes', '/api', '/healthz', '/readyz', '/metrics', '/assets/x']) {
    expect((await get(path, html)).status, path).toBe(418)
  }
  for (const path of ['/gone.js', '/favicon.ico', '/assets/app-0000.js', '/index.html']) {
    expect((await get(path, html)).status, path).toBe(418)
  }
  expect((await get('/', html, 'POST')).status).toBe(418)
})

test('no path leads out of the folder, or to what is no part of the page', async () => {
  const { get } = await aDashboard()
  const paths = ['/../secret.txt', '/assets/../../secret.txt', '/%2e%2e/secret.txt', '/..%2fsecret.txt', '//secret.txt']
  for (const path of [...paths, '/.built', '/.next/half.js', '/assets/app-1a2b.js.br', '/__proto__', '/constructor']) {
    expect((await get(path)).status, path).toBe(418)
  }
})

test('a file that another build has removed is not there; one that was sent before still is', async () => {
  const { get, folder } = await aDashboard()
  await get('/assets/app-1a2b.js')
  rmSync(join(folder, 'assets'), { recursive: true })
  expect((await get('/assets/app-1a2b.js')).body.toString()).toBe(SCRIPT)
  expect((await get('/assets/app-1a2b.js', { 'accept-encoding': 'br' })).status).toBe(418)
})

test('HEAD has the head of the answer alone', async () => {
  const { get } = await aDashboard()
  const { status, headers, body } = await get('/assets/app-1a2b.js', {}, 'HEAD')
  expect([status, headers['content-length'], body.length]).toEqual([200, String(SCRIPT.length), 0])
})

test('where it was not built the page says how to build it, and one that is built later is found', async () => {
  const { get, build, folder } = await aDashboard({ isBuilt: false })
  for (const [path, headers] of [['/', {}] as const, ['/nodes/gpu-1', html] as const]) {
    const { status, body } = await get(path, headers)
    expect([status, body.toString()]).toEqual([503, expect.stringContaining('npm run build:ui')])
  }
  expect((await get('/assets/app-1a2b.js')).status).toBe(418)
  build()
  expect((await get('/assets/app-1a2b.js')).status).toBe(200)
  expect((await get('/')).status).toBe(200)
  rmSync(folder, { recursive: true })
  expect((await get('/')).status).toBe(503)
})
