import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { readBody, sendJson } from '../../../http/server.ts'
import { freePort } from '../../../../test/support/http/free-port.ts'
import { serve } from '../../../../test/support/http/http.ts'
import { until } from '../../../../test/support/until.ts'
import { startAsker, type Ask } from './asker.ts'
import { steadyClock } from './steady-clock.ts'

type Reply = (response: ServerResponse) => void

const AN_ASK: Ask = {
  model: 'm',
  messages: [{ role: 'user', content: 'a b c' }],
  maxTokens: 4,
  isStreamed: true,
  promptTokens: 3,
  keepsText: true,
}

/** A gateway that answers as told, one after another, the last for ever. */
async function aGateway(...replies: Reply[]) {
  const bodies: unknown[] = []
  const url = await serve(async (request, response) => {
    bodies.push(JSON.parse((await readBody(request, 1e6)).toString('utf8')))
    const reply = replies.length > 1 ? replies.shift()! : replies[0]!
    reply(response)
  })
  return { url, bodies }
}

function anAsker(url: string, timeoutMs = 20_000) {
  const asker = startAsker({ url: new URL(url), key: 'k', mostInFlight: 10, timeoutMs, clock: steadyClock })
  onTestFinished(() => asker.abandon())
  const gaps: number[] = []
  return { ...asker, gaps, once: (ask: Partial<Ask> = {}) => asker.ask({ ...AN_ASK, ...ask }, (ms) => gaps.push(ms)) }
}

const event = (body: object): string => `data: ${JSON.stringify(body)}\n\n`
const word = (content: string): string => event({ choices: [{ delta: { content } }] })
const DONE = 'data: [DONE]\n\n'
const streams =
  (text: string, headers: Record<string, string> = {}): Reply =>
  (response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream', ...headers }).end(text)

test('a stream is counted word by word, with its tokens and who sent it', async () => {
  const usage = event({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 9 } })
  const role = event({ choices: [{ delta: { role: 'assistant', content: '' } }] })
  const headers = { 'x-request-id': 'r-1', 'x-flotilla-replica': 'id-1', 'x-flotilla-node': encodeURI('Köln') }
  const { url, bodies } = await aGateway(
    streams(`: hello\n\n${role}${word('one ')}${word('two')}${usage}${DONE}`, headers),
  )
  const asker = anAsker(url)
  const outcome = await asker.once()
  expect(outcome).toMatchObject({
    text: 'one two',
    tokensIn: 7,
    tokensOut: 9,
    isEstimated: false,
    requestId: 'r-1',
    replica: { id: 'id-1', node: 'Köln' },
    failure: undefined,
  })
  expect(outcome.firstMs).toBeLessThanOrEqual(outcome.endMs)
  expect(asker.gaps).toHaveLength(1)
  expect(bodies).toEqual([
    {
      model: 'm',
      messages: AN_ASK.messages,
      max_tokens: 4,
      ignore_eos: true,
      stream: true,
      stream_options: { include_usage: true },
    },
  ])
})

test('words that come in pieces of any size are the same words', async () => {
  const whole = Buffer.from(`${word('grün ')}${word('船')}${DONE}`)
  const { url } = await aGateway(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const byte of whole) {
      response.write(Buffer.from([byte]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    response.end()
  })
  expect(await anAsker(url).once()).toMatchObject({
    text: 'grün 船',
    tokensOut: 2,
    isEstimated: true,
    failure: undefined,
  })
})

test('an answer in one piece is counted, or estimated where it does not say how long it is', async () => {
  const choices = [{ message: { content: 'twelve chars' }, finish_reason: 'length' }]
  const usage = { prompt_tokens: 1, completion_tokens: 2 }
  const { url } = await aGateway(
    (response) => sendJson(response, 200, { choices, usage }),
    (response) => sendJson(response, 200, { choices }),
  )
  const asker = anAsker(url)
  const ask = { isStreamed: false }
  expect(await asker.once(ask)).toMatchObject({ tokensIn: 1, tokensOut: 2, isEstimated: false, firstMs: undefined })
  expect(await asker.once(ask)).toMatchObject({ tokensIn: 3, tokensOut: 3, isEstimated: true, failure: undefined })
})

test.each<[string, Reply, object]>([
  [
    'a refusal',
    (response) => sendJson(response, 429, { error: { code: 'queue_full', message: 'Too many.' } }),
    { kind: 'refused', detail: '429 queue_full', message: 'Too many.' },
  ],
  ['a refusal by a stranger', (response) => response.writeHead(502).end('<html>'), { kind: 'refused', detail: '502' }],
  ['a stream without an end', streams(word('one')), { kind: 'cut', detail: 'ended without an end' }],
  [
    'a connection that is lost in the middle',
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(word('one'))
      setTimeout(() => response.destroy(), 20)
    },
    { kind: 'cut' },
  ],
  ['a stream without a word', streams(DONE), { kind: 'empty' }],
  [
    'an error in the stream',
    streams(word('one') + event({ error: { code: 'engine_died', message: 'Gone.' } })),
    { kind: 'error in stream', detail: 'engine_died', message: 'Gone.' },
  ],
  ['what is no JSON', streams('data: {{{\n\n'), { kind: 'not understood' }],
  ['no answer in time', () => {}, { kind: 'timeout', detail: 'no end within 0.2 s' }],
])('%s is a failure of its kind', async (_, reply, failure) => {
  const { url } = await aGateway(reply)
  expect((await anAsker(url, 200).once()).failure).toMatchObject(failure)
})

test('nobody there is a failure, too', async () => {
  const { failure } = await anAsker(`http://127.0.0.1:${await freePort()}`).once()
  expect(failure).toMatchObject({ kind: 'unreachable', detail: 'ECONNREFUSED' })
})

test('abandoned requests end at once, and are told as unfinished', async () => {
  const { url, bodies } = await aGateway(() => {})
  const asker = anAsker(url)
  const running = [asker.once(), asker.once()]
  await until(() => bodies.length === 2)
  asker.abandon()
  expect((await Promise.all(running)).map(({ failure }) => failure?.kind)).toEqual(['unfinished', 'unfinished'])
})

test('a kept connection that the server has ended meanwhile is not the failure of a request', async () => {
  let asked = 0
  const url = await serve(async (request, response) => {
    await readBody(request, 1e6)
    asked += 1
    // The second one on a connection is met by its end, as when an idle connection is ended just now.
    if (asked === 2) response.socket!.resetAndDestroy()
    else streams(word('one') + DONE)(response)
  })
  const asker = anAsker(url)
  expect(await asker.once()).toMatchObject({ failure: undefined, isSentAgain: false })
  expect(await asker.once()).toMatchObject({ failure: undefined, isSentAgain: true })
  expect(asked).toBe(3)
})
