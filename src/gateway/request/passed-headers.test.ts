import { describe, expect, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import type { Handler } from '../../http/server.ts'
import { Tracer } from '../../platform/tracing/tracer.ts'
import { anExporter } from '../../../test/support/http/collector.ts'
import { aDataPort } from '../../../test/support/worker/data-port.ts'
import { aGateway, refuseWith } from '../../../test/support/gateway/gateway-stage.ts'
import { KeptClient } from '../../../test/support/http/kept-client.ts'
import { answerWhole, askBytes, aShortStage } from '../../../test/support/http/short-stage.ts'

/** What browsers, clients and proxies send, and what none of it may tell an engine. */
const PRIVATE: Record<string, string> = {
  cookie: 'flotilla_session=fls_secret',
  authorization: 'Bearer secret',
  'x-api-key': 'secret',
  'api-key': 'secret',
  'proxy-authorization': 'Basic secret',
  'x-forwarded-for': 'secret',
  forwarded: 'for=secret',
  via: 'secret',
  'x-real-ip': 'secret',
  origin: 'http://127.0.0.1',
  referer: 'http://127.0.0.1/secret',
  'x-flotilla-dashboard': '1',
  'x-of-my-own': 'secret',
}
const PASSED: Record<string, string> = {
  accept: 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'a client',
  'idempotency-key': 'i',
  'openai-organization': 'o',
  'openai-project': 'p',
  'openai-beta': 'b',
  'anthropic-version': 'v',
  'anthropic-beta': 'w',
  'x-session-id': 's',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=b',
}
const ALL = { ...PRIVATE, ...PASSED }
/** What a gateway says to a worker, besides those that are passed on. */
const OURS = ['host', 'authorization', 'x-flotilla-model', 'x-request-id', 'connection']
const OF_A_BODY = ['content-type', 'content-length']

function aWorker(answer: (...of: Parameters<Handler>) => void = (_, response) => void response.end('{}')) {
  const heard: Record<string, unknown>[] = []
  const worker: Handler = (request, response) => {
    // A cable is asked for with lines of the gateway's own.
    if (request.url !== '/cable') heard.push(request.headers)
    request.resume()
    return answer(request, response)
  }
  return { heard, worker }
}

function expectPassed(headers: Record<string, unknown>, but: readonly string[] = []): void {
  const names = Object.keys(headers)
  expect(names.toSorted()).toEqual(
    [...new Set([...OURS, ...OF_A_BODY, ...Object.keys(PASSED)])].filter((name) => !but.includes(name)).toSorted(),
  )
  expect(JSON.stringify(headers)).not.toContain('secret')
  expect(headers['authorization']).toMatch(/^Bearer key\d$/)
}

describe('of the headers of a request a worker hears those that are on the list', () => {
  // Callers are judged by the stage: with a cookie and a wrong key, this one may ask.
  const body = { model: 'm' }

  test('on the long way', async () => {
    const { heard, worker } = aWorker()
    const { post } = await aGateway([worker])
    const headers = { ...ALL, 'content-type': 'application/json', 'x-flotilla-wait': 'never' }
    expect((await post('/v1/x?a=b', body, { headers })).status).toBe(200)
    expectPassed(heard[0]!)
  })

  test('on the way of requests whose head came before', async () => {
    const { heard, worker } = aWorker(answerWhole('{}'))
    const { ask, counted } = await aShortStage([worker])
    // What needs a key or comes through a proxy does not go this way.
    const keyless = Object.entries({ ...PRIVATE, authorization: 'Bearer any' }).filter(
      ([name]) => !['x-api-key', 'x-forwarded-for', 'forwarded', 'via', 'x-real-ip'].includes(name),
    )
    const lines = [...keyless, ...Object.entries(PASSED)].map(([name, value]) => `${name}: ${value}`)
    for (let i = 0; i < 3; i += 1) expect(await ask({ lines })).toMatchObject({ status: 200 })
    expect(counted.answered).toBe(2)
    expect(heard).toHaveLength(3)
    for (const headers of heard) expectPassed(headers)
  })

  test('when the first replica refuses, and where requests are traced', async () => {
    const { heard, worker } = aWorker()
    const tracer = new Tracer({
      sink: anExporter('http://127.0.0.1:1').exporter,
      service: 'x',
      ratio: 1,
      random: () => 0.5,
    })
    const { ask } = await aGateway([refuseWith(503), worker], { tracer })
    expect((await ask(body, { headers: { ...ALL, 'content-type': 'application/json' } })).status).toBe(200)
    expectPassed(heard[0]!)
    expect(heard[0]!['traceparent']).not.toBe(PASSED['traceparent'])
  })

  test('for clients of Ollama', async () => {
    const { heard, worker } = aWorker((_, response) => void response.end(JSON.stringify({ choices: [] })))
    const { post } = await aGateway([worker])
    const chat = { model: 'm', stream: false, messages: [{ role: 'user', content: 'Hi' }] }
    expect((await post('/api/chat', chat, { headers: ALL })).status).toBe(200)
    expectPassed(heard[0]!, ['accept', 'accept-encoding'])
  })

  test('and an engine hears none of what the gateway says to the worker', async () => {
    const { heard, worker: engine } = aWorker(answerWhole('{}'))
    const { url, ask } = await aDataPort(engine)
    const key = { authorization: 'Bearer right' }
    expect((await ask('/v1/x', { method: 'POST', body: '{}', headers: { ...ALL, ...key } })).status).toBe(200)
    const client = new KeptClient(url)
    const lines = Object.entries({ ...ALL, ...key }).map(([name, value]) => `${name}: ${value}`)
    for (let i = 0; i < 3; i += 1) {
      const [answer] = await client.ask(Buffer.from(askBytes({ path: '/replicas/r/7/v1/x', lines })))
      expect(answer).toMatchObject({ status: 200 })
    }
    expect(heard).toHaveLength(4)
    for (const headers of heard) {
      expect(Object.keys(headers)).not.toContain('authorization')
      expect(Object.keys(headers)).not.toContain('cookie')
      expect(Object.keys(headers)).not.toContain('x-flotilla-model')
      expect(JSON.stringify(headers)).not.toMatch(/secret|right/)
      expect(headers).toMatchObject(PASSED)
    }
  })
})

describe('of the headers of an answer a client hears none that speaks for the origin', () => {
  const said = {
    'set-cookie': 'flotilla_session=fls_mine',
    'access-control-allow-origin': '*',
    'access-control-allow-credentials': 'true',
    'clear-site-data': '"cookies"',
    'strict-transport-security': 'max-age=31536000',
    'alt-svc': 'h3=":1"',
    'x-flotilla-node': 'another',
    'x-of-the-engine': 'kept',
  }
  const namesOf = (headers: Headers | [string, string][]): string[] => [...headers].map(([name]) => name.toLowerCase())
  const expectKept = (names: string[]): void => {
    expect(names).toContain('x-of-the-engine')
    expect(names.filter((name) => name in said)).toEqual(['x-of-the-engine'])
  }

  test.each([
    [
      'a whole answer',
      (text: string): Handler =>
        (_, response) =>
          void response.writeHead(200, { ...said, 'content-length': text.length }).end(text),
    ],
    [
      'a stream',
      (text: string): Handler =>
        (_, response) => {
          response.writeHead(200, { ...said, 'content-type': 'text/event-stream' })
          response.write(`data: ${text}\n\n`)
          response.end('data: [DONE]\n\n')
        },
    ],
  ])('%s, on the long way and on the short one', async (_, workerOf) => {
    const { url, ask, counted } = await aShortStage([workerOf('{}')], { clock: systemClock })
    const long = await fetch(`${url}/v1/x?a=b`, { method: 'POST', body: '{"model":"m"}' })
    expectKept(namesOf(long.headers))
    await long.text()
    for (let i = 0; i < 3; i += 1) expectKept(namesOf((await ask()).headers))
    expect(counted.taken).toBe(2)
  })
})
