import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { httpGet } from '../../model-files/source/http-get.ts'
import { judgeAnswer } from '../../model-files/source/judge-answer.ts'
import { connectionFailure, Interruption, persist, retryLimits } from '../../model-files/source/persist.ts'
import { Turns } from '../../model-files/source/turns.ts'
import { AppError } from '../../platform/errors.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { Bandwidth } from './bandwidth.ts'
import { FileServer } from './file-server-suite.ts'
import { ProgressMeter } from './progress-meter.ts'
import { openModelFiles, stage } from './scene-suite.ts'

const never = new AbortController().signal

test('the bandwidth is shared: bytes come as fast as allowed, whoever takes them', async () => {
  const clock = new VirtualClock()
  const bandwidth = new Bandwidth(1000, clock)
  let taken = 0
  for (let i = 0; i < 4; i += 1) {
    void (async () => {
      for (;;) {
        await bandwidth.take(100, never)
        taken += 100
      }
    })()
  }
  await clock.advance(10_000)
  expect(taken).toBeGreaterThanOrEqual(9_500)
  expect(taken).toBeLessThanOrEqual(10_500)
})

test('a pause saves up very little, and a cancelled wait ends at once', async () => {
  const clock = new VirtualClock()
  const bandwidth = new Bandwidth(1000, clock)
  await clock.advance(60_000)
  await bandwidth.take(250, never)
  const stop = new AbortController()
  let isDone = false
  void bandwidth.take(100, stop.signal).then(() => (isDone = true))
  await clock.advance(50)
  expect(isDone).toBe(false)
  stop.abort()
  await until(() => isDone)
  await new Bandwidth(undefined, clock).take(1e12, never)
})

test('trying again waits longer each time, as long as asked, and stops when nothing new comes', async () => {
  const clock = new VirtualClock()
  const at: number[] = []
  const deps = { clock, log: silentLogger, random: () => 1, limits: retryLimits }
  let reached = 0
  const result = persist(
    'f',
    deps,
    never,
    () => reached,
    async (count) => {
      at.push(clock.nowMs())
      if (count === 2) reached = 1
      throw new Interruption('cut', count === 0 ? 3000 : count === 1 ? 1e9 : 0)
    },
  ).catch((error: unknown) => error)
  await clock.advance(3_600_000)
  expect(await result).toMatchObject({ code: 'unavailable', message: expect.stringContaining('8 tries in a row') })
  const waits = at.slice(1).map((atMs, index) => atMs - at[index]!)
  expect(waits).toEqual([3000, 300_000, 500, 500, 1000, 2000, 4000, 8000, 16_000, 30_000])
})

test('what is final is not tried again, and a wait for the next try can be cancelled', async () => {
  const clock = new VirtualClock()
  const deps = { clock, log: silentLogger, random: () => 1, limits: retryLimits }
  const final = new AppError('not_found', 'none')
  await expect(
    persist(
      'f',
      deps,
      never,
      () => 0,
      () => Promise.reject(final),
    ),
  ).rejects.toBe(final)
  const stop = new AbortController()
  const waiting = persist(
    'f',
    deps,
    stop.signal,
    () => 0,
    () => Promise.reject(new Interruption('cut')),
  )
  stop.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
})

test('a connection that is refused is tried again, one that is not trusted is not', () => {
  const refused = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' })
  expect(connectionFailure('h/f', refused)).toMatchObject({ name: 'Interruption', message: 'ECONNREFUSED' })
  const untrusted = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  expect(connectionFailure('h/f', untrusted)).toMatchObject({ code: 'bad_gateway' })
})

test('how long a server asks to wait is read as seconds or as a date', async () => {
  const server = await FileServer.start()
  const nowMs = Date.parse('2026-01-01T00:00:00Z')
  for (const [text, expected] of [
    ['7', 7000],
    [new Date(nowMs + 9000).toUTCString(), 9000],
    ['soon', 0],
  ] as const) {
    server.behaviours.push((_request, response) => void response.writeHead(503, { 'retry-after': text }).end())
    const answer = await httpGet({ url: new URL(server.url), isOurs: true, signal: never })
    let thrown: unknown
    try {
      judgeAnswer(answer, 'f', nowMs)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ retryAfterMs: expected })
  }
})

test('at most so many have a turn; one that stops waiting takes none', async () => {
  const turns = new Turns(2)
  const log: string[] = []
  const gates = new Map<string, () => void>()
  const enter = (name: string, signal = never): Promise<void> =>
    turns.run(signal, () => {
      log.push(name)
      return new Promise((resolve) => gates.set(name, resolve))
    })
  const stop = new AbortController()
  const [a, b] = [enter('a'), enter('b')]
  const c = enter('c', stop.signal).catch((error: Error) => error.message)
  const d = enter('d')
  await until(() => log.length === 2)
  stop.abort(new Error('no patience'))
  expect(await c).toBe('no patience')
  gates.get('b')!()
  await until(() => log.length === 3)
  expect(log).toEqual(['a', 'b', 'd'])
  for (const open of gates.values()) open()
  await Promise.all([a, b, d])
})

test('progress is told at most four times a second, the last of it too', async () => {
  const clock = new VirtualClock()
  const told: { atMs: number; done: number; total: number | null; rate: number | null }[] = []
  const meter = new ProgressMeter(clock, ({ done_bytes: done, total_bytes: total, bytes_per_s: rate }) => {
    told.push({ atMs: clock.nowMs(), done, total, rate })
  })
  meter.set('old', { path: 'old', doneBytes: 5000, totalBytes: 5000, arrivedBytes: 0 })
  for (let i = 1; i <= 100; i += 1) {
    meter.set('new', { path: 'new', doneBytes: i * 10, totalBytes: i < 50 ? null : 1000, arrivedBytes: i * 10 })
    await clock.advance(10)
  }
  await clock.advance(1000)
  expect(told.map(({ atMs }) => atMs)).toEqual([0, 250, 500, 750, 1000])
  expect(told.map(({ total }) => total)).toEqual([5000, null, 6000, 6000, 6000])
  expect(told.at(-1)).toMatchObject({ done: 6000, rate: expect.closeTo(1000, -2) })
  meter.set('new', { path: 'new', doneBytes: 1000, totalBytes: 1000, arrivedBytes: 0 })
  expect(told.at(-1)!.rate).toBeGreaterThanOrEqual(0)
  meter.set('new', { path: 'new', doneBytes: 0, totalBytes: 1000, arrivedBytes: 0 })
  meter.dispose()
  await clock.advance(1000)
  expect(told).toHaveLength(6)
})

test('an untrusted server is not asked twice; a redirect that would end encryption is not followed', async () => {
  const folder = tempFolder()
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const make = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', [...make, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
  const plain = await FileServer.start()
  const location = plain.put('/f.gguf', Buffer.from('plain'))
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_request, response) => {
    response.writeHead(302, { location }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    vi.unstubAllEnvs()
  })
  const source = `https://127.0.0.1:${(server.address() as AddressInfo).port}/f.gguf`
  const files = await openModelFiles()
  await expect(stage(files, { source })).rejects.toThrow('the connection is not trusted')
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  await expect(stage(files, { source })).rejects.toThrow('would no longer be encrypted')
  expect(plain.requests).toEqual([])
})
