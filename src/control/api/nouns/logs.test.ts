import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { LogEntry } from '../../../api/admin/schemas.ts'
import { AppError } from '../../../platform/errors.ts'
import { sendError, sendJson } from '../../../http/server.ts'
import { aStage, type Stage } from '../../../../test/support/control/admin-stage.ts'
import { ADMIN_KEY } from '../../../../test/support/control/control-scene.ts'
import { until } from '../../../../test/support/until.ts'
import { dataKeyOf } from '../../workers/data-key.ts'

const line = { seq: 4, at: 1, replica: 'm#0', stream: 'stdout', text: 'up' }

async function aLogStage() {
  const stage = await aStage()
  const path = `/api/nodes/${stage.thor.nodeId}/backend-logs`
  const get = (rest: string, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    fetch(`${stage.scene.url}${path}${rest}`, {
      headers: { authorization: `Bearer ${ADMIN_KEY}`, ...headers },
      signal: signal ?? null,
    })
  return { ...stage, path, get }
}

/** What the data port was asked, with the key it was shown. */
function listen({ dataPort }: Stage, body: unknown = { lines: [line] }): { url: string; key: string | undefined }[] {
  const asked: { url: string; key: string | undefined }[] = []
  dataPort.handler = (request, response) => {
    asked.push({ url: request.url!, key: request.headers.authorization })
    sendJson(response, 200, body)
  }
  return asked
}

describe('the logs of a node', () => {
  test('are listed as its data port lists them, asked for with its own key', async () => {
    const stage = await aLogStage()
    const { scene, thor, path } = stage
    const replica = { key: 'm#0', lines: 2, first_seq: 1, last_seq: 4, last_at: 9 }
    const entries: LogEntry[] = [{ model_name: 'm', replicas: [replica] }]
    const asked = listen(stage, entries)
    expect(await scene.admin('GET', path)).toEqual({ status: 200, body: entries })
    expect(asked).toEqual([{ url: '/logs', key: `Bearer ${dataKeyOf('secret', thor.nodeId)}` }])
  })

  test.each([
    ['m#0', '/logs/m%230?'],
    ['org/model', '/logs/org%2Fmodel?'],
    ['100% #1 модель 🚢#2', `/logs/${encodeURIComponent('100% #1 модель 🚢#2')}?`],
    ['%2F', '/logs/%252F?'],
  ])('of %s are found under exactly that name', async (key, url) => {
    const stage = await aLogStage()
    const asked = listen(stage)
    const answer = await stage.get(`/${encodeURIComponent(key)}`)
    expect([answer.status, await answer.json()]).toEqual([200, { lines: [line] }])
    expect(asked.map((one) => one.url)).toEqual([url])
  })

  test('which lines is the business of the node; a browser that comes back says what it has seen', async () => {
    const stage = await aLogStage()
    const asked = listen(stage)
    await stage.get('/m?after=3&limit=10&stream=stderr&grep=a%20b%26c&follow=0')
    await stage.get('/m?after=3&grep=', { 'last-event-id': '17' })
    expect(asked.map(({ url }) => url)).toEqual([
      '/logs/m?after=3&limit=10&stream=stderr&grep=a+b%26c&follow=0',
      '/logs/m?after=17',
    ])
  })

  test('a query that makes no sense is refused before the node is asked', async () => {
    const stage = await aLogStage()
    const asked = listen(stage)
    for (const query of ['after=-1', 'limit=10001', 'follow=yes', 'colour=1', `grep=${'x'.repeat(501)}`]) {
      expect((await stage.get(`/m?${query}`)).status, query).toBe(400)
    }
    expect(asked).toEqual([])
  })

  test('what the node answers is the answer', async () => {
    const { dataPort, get } = await aLogStage()
    const nothing = new AppError('not_found', 'There is no log of "m".')
    dataPort.handler = (_request, response) => sendError(response, nothing)
    const answer = await get('/m')
    expect([answer.status, await answer.json()]).toEqual([404, nothing.toBody()])
  })

  test.each<[string, (stage: Stage) => Promise<void> | void, RegExp]>([
    [
      'is away',
      ({ scene }) => elsewhere(scene, '127.0.0.1:1'),
      /^thor cannot be reached at 127.0.0.1:1: connect ECONNREFUSED/,
    ],
    [
      'has no address',
      ({ scene }) => elsewhere(scene, 'nowhere'),
      /thor cannot be reached at nowhere: that is no address/,
    ],
    [
      'refuses the key',
      ({ dataPort }) => void (dataPort.handler = (_, response) => void response.writeHead(401).end()),
      /thor .* refuses/,
    ],
    [
      'hangs up',
      ({ dataPort }) => void (dataPort.handler = (_, response) => void response.destroy()),
      /thor cannot be reached/,
    ],
  ])('a node that %s is named', async (_, arrange, message) => {
    const stage = await aLogStage()
    await arrange(stage)
    for (const rest of ['', '/m', '/m?follow=1']) {
      const answer = await stage.get(rest)
      const { error } = (await answer.json()) as { error: { message: string } }
      expect([answer.status, error.message]).toEqual([502, expect.stringMatching(message)])
      expect(error.message).not.toContain(dataKeyOf('secret', stage.thor.nodeId))
    }
  })

  test.each<[string, (response: ServerResponse) => void]>([
    ['is no JSON', (response) => response.end('hello')],
    ['is something else', (response) => sendJson(response, 200, { lines: [] })],
    ['is an error', (response) => sendJson(response, 500, [])],
    [
      'breaks off',
      (response) => response.writeHead(200, { 'content-length': 100 }).write('[', () => response.destroy()),
    ],
  ])('a listing that %s is the mistake of the node', async (_, answerWith) => {
    const { dataPort, get } = await aLogStage()
    dataPort.handler = (_request, response) => answerWith(response)
    const answer = await get('')
    // A connection that is cut may take with it what was sent before.
    const mistake = /thor (sent a list|cannot be reached at \S+: socket hang up)/
    expect([answer.status, await answer.text()]).toEqual([502, expect.stringMatching(mistake)])
  })
})

describe('following', () => {
  /** A node whose log the test writes, and a reader of it. */
  async function aFollowed() {
    const stage = await aLogStage()
    let node: { request: IncomingMessage; response: ServerResponse } | undefined
    stage.dataPort.handler = (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
      response.flushHeaders()
      node = { request, response }
    }
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    const answer = await stage.get('/m?follow=1', {}, stop.signal)
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
    await until(() => node !== undefined)
    return { ...stage, answer, reader, stop: () => stop.abort(), ...node! }
  }

  test('shows each line when it is written', async () => {
    const { answer, reader, request, response } = await aFollowed()
    expect(request.url).toBe('/logs/m?follow=1')
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(answer.headers.get('x-accel-buffering')).toBe('no')
    for (const text of [`id: 4\ndata: ${JSON.stringify(line)}\n\n`, ': still here\n\n']) {
      response.write(text)
      expect((await reader.read()).value).toBe(text)
    }
    response.end()
    expect((await reader.read()).done).toBe(true)
  })

  test('ends at the node when the reader goes', async () => {
    const { response, stop } = await aFollowed()
    stop()
    await until(() => response.destroyed)
    expect(response.writableFinished).toBe(false)
  })

  test('is cut for the reader when the node goes, so that it does not look whole', async () => {
    const { reader, response } = await aFollowed()
    response.write('data: 1\n\n')
    await reader.read()
    response.destroy()
    await expect(reader.read()).rejects.toThrow('terminated')
  })

  test('ends when Flotilla does, for both', async () => {
    const { scene, reader, response } = await aFollowed()
    response.write('data: 1\n\n')
    await reader.read()
    const ended = scene.end()
    expect((await reader.read()).done).toBe(true)
    await ended
    await until(() => response.destroyed)
    expect(response.writableFinished).toBe(false)
  })

  test('a reader that goes before the node has answered is not waited for', async () => {
    const stage = await aLogStage()
    let asked: ServerResponse | undefined
    stage.dataPort.handler = (_request, response) => void (asked = response)
    const stop = new AbortController()
    const answer = stage.get('/m?follow=1', {}, stop.signal).catch(() => 'stopped')
    await until(() => asked !== undefined)
    stop.abort()
    expect(await answer).toBe('stopped')
    await until(() => asked!.destroyed)
  })
})

async function elsewhere({ db }: Stage['scene'], address: string): Promise<void> {
  await db.transaction((tx) => tx.query('update nodes set address = $1', [address]))
}
