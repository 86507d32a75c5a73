import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { serve } from '../../test/support/http/http.ts'
import { until } from '../../test/support/until.ts'
import { rawClient } from '../../test/support/http/raw-client.ts'
import { BodyBudget } from './server/body-budget.ts'
import { AppError, toAppError } from '../platform/errors.ts'
import { sendHealth } from './server/health.ts'
import { parseJson, readBody, sendError, sendJson, startHttpServer } from './server.ts'
import { silentLogger } from '../platform/run/log.ts'

describe('errors on the wire', () => {
  test("an AppError becomes its status and OpenAI's error shape, with Retry-After when there is one", async () => {
    const url = await serve(() => {
      throw new AppError('model_not_ready', 'not yet', { retryAfterS: 7, details: { param: 'model' } })
    })
    const response = await fetch(url)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('7')
    expect(await response.json()).toEqual({
      error: { message: 'not yet', type: 'server_error', param: 'model', code: 'model_not_ready' },
    })
  })

  test('anything else thrown is a 500 without its text or stack', async () => {
    const url = await serve(() => Promise.reject(new Error('secret detail')))
    const response = await fetch(url)
    const text = await response.text()
    expect(response.status).toBe(500)
    expect(text).not.toMatch(/secret detail|at .*\.ts/)
  })
})

describe('bodies', () => {
  const echo = async () =>
    serve(async (request, response) => sendJson(response, 200, parseJson(await readBody(request, 20))))

  test('a body up to the limit is read', async () => {
    const response = await fetch(await echo(), { method: 'POST', body: '{"a":1}' })
    expect(await response.json()).toEqual({ a: 1 })
  })

  test.each([
    ['too long, announced', JSON.stringify('x'.repeat(50)), 413, 'larger than the limit of 20 bytes'],
    ['not JSON', '{oops', 400, 'not valid JSON'],
    ['empty', '', 400, 'empty'],
  ])('%s: a clear error', async (_, body, status, message) => {
    const response = await fetch(await echo(), { method: 'POST', body })
    expect(response.status).toBe(status)
    expect(((await response.json()) as { error: { message: string } }).error.message).toContain(message)
  })

  test('one that takes longer than it may is refused, and what it has sent is not kept', async () => {
    const budget = new BodyBudget(1000)
    const room = budget.open('a client')
    const url = await serve(async (request, response) => {
      await readBody(request, 20, { withinMs: 20, room }).catch((error: unknown) =>
        sendError(response, toAppError(error)),
      )
    })
    const client = await rawClient(url)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345')
    expect(await client.reads('did not arrive whole within')).toMatch(/^HTTP\/1\.1 408 /)
    expect([room.bytes, budget.heldBytes]).toEqual([5, 0])
  })

  test('too long and not announced: cut off at the limit', async () => {
    const stream = new Blob(['x'.repeat(10_000)]).stream()
    const response = await fetch(await echo(), { method: 'POST', body: stream, duplex: 'half' } as RequestInit)
    expect(response.status).toBe(413)
  })
})

describe('the server', () => {
  test('a port in use is one clear line that names the flag', async () => {
    const port = Number(new URL(await serve(() => {})).port)
    const listen = { host: '127.0.0.1', port }
    const starting = startHttpServer({
      listen,
      purpose: 'the API',
      flag: '--listen',
      handler: () => {},
      log: silentLogger,
    })
    await expect(starting).rejects.toMatchObject({
      code: 'usage',
      message: `Cannot listen on 127.0.0.1:${port} for the API: another program uses that port. Choose another with --listen host:port.`,
    })
  })

  test('dispose lets a running answer finish and takes no new connection', async () => {
    let finish = (): void => {}
    const handler = (_: unknown, response: { write(text: string): void; end(text: string): void }): void => {
      response.write('first ')
      finish = () => response.end('last')
    }
    const server = await startHttpServer({
      listen: { host: '127.0.0.1', port: 0 },
      purpose: 'a test',
      flag: '--none',
      handler,
      log: silentLogger,
    })
    const response = await fetch(`http://127.0.0.1:${server.address.port}`)
    const disposed = server.dispose(10_000)
    // What comes in the very moment is still taken in.
    await until(() => isRefused(server.address.port))
    finish()
    expect(await response.text()).toBe('first last')
    await disposed
  })
})

function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return new Promise((resolve) => {
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'))
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
  })
}

describe('health', () => {
  test('healthz answers while the process runs; readyz names the part that is not ready', async () => {
    let problem: string | undefined = 'starting'
    const url = await serve((request, response) =>
      sendHealth(request.url as '/healthz', response, { bus: () => undefined, control: () => problem }),
    )
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const notReady = await fetch(`${url}/readyz`)
    expect(notReady.status).toBe(503)
    expect(await notReady.json()).toEqual({ status: 'not ready', checks: { bus: 'ok', control: 'starting' } })
    problem = undefined
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
  })
})
