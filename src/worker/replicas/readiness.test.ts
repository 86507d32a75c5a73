import { createServer } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { silenceLimitMs, waitUntilReady, type Awaited } from './readiness.ts'

const GIB = 1024 ** 3

/** An engine that has said nothing yet. */
function anEngine(fields: Partial<Awaited> = {}) {
  const engine = { lines: 0, isReady: false, memoryBytes: 0 }
  const awaited: Awaited = {
    profile: { ready: { log: '^up' }, ready_within_s: 60, listens: 'itself' },
    port: 1,
    modelBytes: 0,
    lines: { count: () => engine.lines, isReadyPrinted: () => engine.isReady },
    memoryBytes: async () => engine.memoryBytes,
    listener: async () => ({ isLoopbackOnly: true, isOurs: true }),
    ...fields,
  }
  return { engine, awaited }
}

function waiting(fields: Partial<Awaited> = {}) {
  const clock = new VirtualClock()
  const { engine, awaited } = anEngine(fields)
  const result: { is?: unknown } = {}
  const stop = new AbortController()
  void waitUntilReady(awaited, clock, stop.signal).then((readiness) => (result.is = readiness ?? 'aborted'))
  onTestFinished(() => stop.abort())
  return { clock, engine, result, stop }
}

describe('the limit of a start', () => {
  test('is without progress: after it the start is given up', async () => {
    const { clock, result } = waiting()
    await clock.advance(59_000)
    expect(result.is).toBeUndefined()
    await clock.advance(2000)
    expect(result.is).toEqual({ ready: false, why: 'The engine did not become ready: no sign of progress for 60 s.' })
  })

  test('grows with the size of the model', () => {
    const { awaited } = anEngine({ modelBytes: 70 * GIB })
    expect(silenceLimitMs(awaited)).toBe(60_000 + 70 * 20_000)
  })

  test('is short for one that was taken over: its word that it is ready may have died with the worker', async () => {
    const { clock, result } = waiting({ isTakenOver: true })
    await clock.advance(11_000)
    expect(result.is).toEqual({ ready: false, why: 'The engine did not become ready: no sign of progress for 10 s.' })
    const { awaited } = anEngine({
      isTakenOver: true,
      profile: { ready: { http: '/' }, ready_within_s: 60, listens: 'itself' },
    })
    expect(silenceLimitMs(awaited)).toBe(60_000)
  })

  test.each([
    ['a line in the log', (engine: ReturnType<typeof anEngine>['engine']) => (engine.lines += 1)],
    ['memory that grows', (engine: ReturnType<typeof anEngine>['engine']) => (engine.memoryBytes += 10 * 1024 * 1024)],
  ])('is extended by %s', async (_, progress) => {
    const { clock, engine, result } = waiting()
    for (let i = 0; i < 5; i += 1) {
      await clock.advance(50_000)
      progress(engine)
    }
    expect(result.is).toBeUndefined()
    engine.isReady = true
    await clock.advance(1000)
    expect(result.is).toEqual({ ready: true })
  })

  test('but not for ever', async () => {
    const { clock, engine, result } = waiting()
    for (let i = 0; i < 30; i += 1) {
      await clock.advance(50_000)
      engine.lines += 1
    }
    expect(result.is).toEqual({ ready: false, why: 'The engine did not become ready within 1200 s.' })
  })

  test('nothing is said of a start that was called off', async () => {
    const { clock, stop, result } = waiting()
    stop.abort()
    await clock.advance(1000)
    expect(result.is).toBe('aborted')
  })
})

describe('ready is', () => {
  test('an answer 200 on the path, and nothing less', async () => {
    let status = 503
    const server = createServer((_request, response) => response.writeHead(status).end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as { port: number }
    const ready = { http: '/health' }
    const { awaited } = anEngine({ port, profile: { ready, ready_within_s: 60, listens: 'itself' } })
    const answer = waitUntilReady(awaited, systemClock, new AbortController().signal)
    server.once('request', () => (status = 200))
    expect(await answer).toEqual({ ready: true })
    expect(status).toBe(200)
  })

  test('not what somebody else on the port says', async () => {
    const { clock, engine, result } = waiting({ listener: async () => ({ isLoopbackOnly: true, isOurs: false }) })
    engine.isReady = true
    await clock.advance(30_000)
    expect(result.is).toBeUndefined()
  })

  test('never an engine that other machines can reach', async () => {
    const { clock, engine, result } = waiting({ listener: async () => ({ isLoopbackOnly: false, isOurs: true }) })
    engine.isReady = true
    await clock.advance(1000)
    expect(result.is).toMatchObject({ ready: false, why: expect.stringContaining('127.0.0.1') })
  })

  test('taken on trust where nobody can tell who listens', async () => {
    const { clock, engine, result } = waiting({ listener: async () => undefined })
    engine.isReady = true
    await clock.advance(1000)
    expect(result.is).toEqual({ ready: true })
  })
})
