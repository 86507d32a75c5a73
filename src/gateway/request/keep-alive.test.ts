import { describe, expect, test } from 'vitest'
import type { Handler } from '../../http/server.ts'
import { aColdGateway } from '../../../test/support/gateway/cold-stage.ts'
import {
  answer,
  breakOff,
  counted,
  refuseWith,
  type StageOptions,
} from '../../../test/support/gateway/gateway-stage.ts'
import { aLoading, aLoadStatus } from '../../../test/support/control/scripted-control.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'

const events: Handler = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-engine': '1' })
  response.write('data: {"n":1}\n\n')
  response.end('data: [DONE]\n\n')
}

/** A client that asked to be kept at the line: its head is there, the rest comes with `text`. */
async function aKeptOne(workers: Handler[], options: StageOptions & { path?: string } = {}) {
  const { path = '/v1/chat/completions', ...rest } = options
  const clock = new VirtualClock(1_000_000)
  const gateway = await aColdGateway(workers, { clock, ...rest })
  gateway.control.answer = aLoadStatus({ loading: aLoading({ model: 'cold' }) })
  const headers = { 'x-flotilla-wait': 'keep-alive', 'x-request-id': 'mine', 'accept-encoding': 'gzip' }
  const client = new AbortController()
  const init = { headers, signal: client.signal }
  const response = await gateway.post(path, { model: 'cold', stream: true }, init)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const read = async (): Promise<string> => {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += piece.value
    return text
  }
  const reading = read().catch(() => 'cut')
  return { ...gateway, clock, response, so: () => text, rest: () => reading, leave: () => client.abort() }
}

/** The event after all comments. */
const lastEvent = (text: string): unknown =>
  JSON.parse(
    text
      .trim()
      .split('\n\n')
      .at(-1)!
      .replace(/^(?:.*\n)?data: /, ''),
  )

describe('a client that asks to be kept at the line', () => {
  test('gets a stream at once, comments every 2 s, and then the stream of the engine', async () => {
    const { clock, control, response, so, rest, comes } = await aKeptOne([events])
    expect([response.status, response.headers.get('content-type'), response.headers.get('x-request-id')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      'mine',
    ])
    await until(() => control.asked.length === 1)
    await clock.advance(4000)
    control.answer = aLoadStatus({ loading: aLoading({ model: 'cold', state: 'loading', progress: 99 }) })
    await clock.advance(4000)
    await until(() => so().split('\n\n').length === 6)
    comes()
    expect(await rest()).toBe(
      [
        ': loading model=cold state=waiting progress=0',
        ': loading model=cold state=staging node=thor progress=43',
        ': loading model=cold state=staging node=thor progress=43',
        // Said in the moment in which control is asked, so it is what was known before.
        ': loading model=cold state=staging node=thor progress=43',
        ': loading model=cold state=loading node=thor progress=99',
        'data: {"n":1}',
        'data: [DONE]',
        '',
      ].join('\n\n'),
    )
  })

  test('is not cut off when others are told to come back, but after an hour', async () => {
    const { clock, so, rest } = await aKeptOne([], { modelLoadWaitMs: 2000 })
    await clock.advance(3_599_000)
    expect(so()).not.toContain('data:')
    await clock.advance(1000)
    expect(lastEvent(await rest())).toMatchObject({ error: { code: 'model_loading' }, loading: { progress: 43 } })
  })

  test('hears of a failure as an event, after which the stream ends', async () => {
    const { clock, control, rest, decisions } = await aKeptOne([])
    control.answer = aLoadStatus({ state: 'failed', reason: 'The file is no GGUF.' })
    await clock.advance(2000)
    const text = await rest()
    expect(lastEvent(text)).toMatchObject({ error: { code: 'model_load_failed' } })
    expect(text).toMatch(/\n\ndata: \{.*\}\n\n$/)
    await until(() => decisions.find('mine') !== undefined)
    expect(decisions.find('mine')).toMatchObject({ status: 503, load_wait_ms: 2000 })
  })

  test('hears of it in Anthropic’s way where their API is asked', async () => {
    const { clock, control, rest } = await aKeptOne([], { path: '/v1/messages' })
    control.answer = aLoadStatus({ state: 'failed' })
    await clock.advance(2000)
    const text = await rest()
    expect(text).toContain('\n\nevent: error\ndata: {')
    expect(lastEvent(text)).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } })
  })

  test.each([
    [400, 'bad_request', '{"error":"prompt too long"}'],
    [500, 'bad_gateway', 'crashed'],
    [200, 'bad_gateway', 'no stream at all'],
  ])('hears of an engine’s answer %i as an event', async (status, code, said) => {
    const { rest, comes } = await aKeptOne([answer(said, status)])
    comes()
    expect(lastEvent(await rest())).toMatchObject({
      error: { code, status, message: expect.stringContaining(said) as string },
    })
  })

  test('hears of a long answer no more than its beginning', async () => {
    const { rest, comes } = await aKeptOne([answer('x'.repeat(1_000_000), 500)])
    comes()
    expect((await rest()).length).toBeLessThan(6000)
  })

  test('hears of a stream that breaks off', async () => {
    const { rest, comes } = await aKeptOne([breakOff('text/event-stream', 'data: {"n":1}\n\n')])
    comes()
    const text = await rest()
    expect(text).toContain('data: {"n":1}\n\n')
    expect(lastEvent(text)).toMatchObject({ error: { code: 'bad_gateway' } })
  })

  test('asks for an answer without compression, because it began without', async () => {
    let coding: unknown
    const { rest, comes } = await aKeptOne([
      (request, response) => {
        coding = request.headers['accept-encoding']
        return events(request, response)
      },
    ])
    comes()
    await rest()
    expect(coding).toBe('identity')
  })

  test('is kept there when the first replica refuses', async () => {
    const refusing = counted(refuseWith(503))
    const { rest, comes, goes, so } = await aKeptOne([refusing, events])
    comes(0)
    await until(() => refusing.requests === 1)
    goes(0)
    comes(1)
    expect(await rest()).toMatch(/progress=\d+\n\ndata: \{"n":1\}\n\ndata: \[DONE\]\n\n$/)
    expect(so()).not.toContain('error')
  })
})

describe('nothing of it', () => {
  const headers = { 'x-flotilla-wait': 'keep-alive' }

  test.each([
    ['a stream', { stream: false }, headers],
    ['to be kept', { stream: true }, {}],
  ])('for one that did not ask for %s', async (_, body, headers) => {
    const { askCold } = await aColdGateway([], { modelLoadWaitMs: 30 })
    const response = await askCold({ headers }, body)
    expect([response.status, response.headers.get('content-type')]).toEqual([503, 'application/json; charset=utf-8'])
  })

  test('for a model that is there: the head is the engine’s', async () => {
    const { ask } = await aColdGateway([events])
    const response = await ask({ model: 'm', stream: true }, { headers })
    expect([response.headers.get('x-engine'), await response.text()]).toEqual([
      '1',
      'data: {"n":1}\n\ndata: [DONE]\n\n',
    ])
  })

  test('for one who may not ask, or asks for what there is not', async () => {
    const { ask } = await aColdGateway([], { caller: { keyId: 'k', models: ['none'] } })
    expect((await ask({ model: 'cold', stream: true }, { headers })).status).toBe(403)
    expect((await ask({ model: 'none', stream: true }, { headers })).status).toBe(404)
  })
})

test('a kept client that goes away leaves nothing behind', async () => {
  const { clock, control, leave, decisions, so } = await aKeptOne([])
  leave()
  await until(() => decisions.find('mine') !== undefined)
  const said = so()
  await clock.advance(600_000)
  expect([decisions.find('mine')?.status, control.asked.length, so()]).toEqual([499, 1, said])
})
