import { expect, onTestFinished, test } from 'vitest'
import { earlyRoom } from './startup-queue.ts'
import { formatAddress } from '../../platform/address.ts'
import { sendJson, startHttpServer } from '../../http/server.ts'
import type { ExchangeHandler } from '../../http/exchange.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { until } from '../../../test/support/until.ts'

const echo: ExchangeHandler = (request, response) =>
  new Promise((resolve) => {
    const pieces: Buffer[] = []
    request.on('data', (piece) => void pieces.push(piece))
    request.once('end', () => {
      sendJson(response, 200, { length: Buffer.concat(pieces).length })
      resolve()
    })
  })

/** A server whose inference is not there yet, on both of its ways. */
async function aStart(mostHeld = 10) {
  const clock = new VirtualClock()
  const early = earlyRoom(clock, { mostHeld })
  let asked = 0
  const counted: ExchangeHandler = (request, response) => {
    asked += 1
    return early.handler(request, response)
  }
  const server = await startHttpServer({
    listen: { host: '127.0.0.1', port: 0 },
    purpose: 'a test',
    flag: '--none',
    handler: counted,
    wire: { prefix: '/v1/', handler: counted },
    log: silentLogger,
  })
  onTestFinished(() => server.dispose(0))
  const url = `http://${formatAddress(server.address)}`
  const ask = async (path: string, body: string) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', body })
    return { status: response.status, body: (await response.json()) as object }
  }
  return { clock, early, ask, asked: (count: number) => until(() => asked === count) }
}

test('who comes while the program starts is served when it has started, with all that he sent', async () => {
  const { early, ask, asked } = await aStart()
  const bodies = ['{}', 'x'.repeat(3_000_000)]
  const answers = Promise.all(['/v1/chat', '/other'].flatMap((path) => bodies.map((body) => ask(path, body))))
  await asked(4)
  early.open(echo)
  const [short, long] = bodies.map(({ length }) => ({ status: 200, body: { length } }))
  expect(await answers).toEqual([short, long, short, long])
  expect(await ask('/v1/chat', '{}')).toEqual(short)
})

test('who has waited for long, or finds too many who wait, is told to come again', async () => {
  const { clock, ask, asked } = await aStart(1)
  const first = ask('/v1/chat', '{}')
  await asked(1)
  const refusal = { status: 503, body: { error: { message: 'Flotilla is starting. Try again in a moment.' } } }
  expect(await ask('/v1/chat', '{}')).toMatchObject(refusal)
  await clock.advance(10_000)
  expect(await first).toMatchObject(refusal)
})
