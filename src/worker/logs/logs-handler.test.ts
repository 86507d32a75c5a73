import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { logEntries, logLines, type LogLine } from '../../api/admin/schemas.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { pathOf } from '../../http/server.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { get } from '../../http/server/node-http.ts'
import { serve } from '../../../test/support/http/http.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { logsHandler } from './logs-handler.ts'
import { ReplicaLogs } from './replica-logs.ts'

interface Stage {
  logs: ReplicaLogs
  clock: VirtualClock
  url: string
  /** All that were given out, newest last. */
  responses: ServerResponse[]
}

async function stage(): Promise<Stage> {
  const logs = await ReplicaLogs.open(tempFolder(), { clock: systemClock, log: silentLogger })
  onTestFinished(() => logs.dispose())
  const clock = new VirtualClock()
  const responses: ServerResponse[] = []
  const handler = logsHandler(logs, clock)
  const url = await serve((request, response) => {
    responses.push(response)
    return handler(request, response, pathOf(request).slice('/logs'.length))
  })
  return { logs, clock, url, responses }
}

interface Follower {
  text: () => string
  events: () => { id?: string; event?: string; data: unknown }[]
  seqs: () => number[]
  answer: IncomingMessage
}

async function follow(url: string, headers: Record<string, string> = {}): Promise<Follower> {
  const request = get(url, { headers, agent: false })
  onTestFinished(() => void request.destroy())
  request.on('error', () => {})
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  answer.on('error', () => {})
  answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const events = (): ReturnType<Follower['events']> => parseEvents(text)
  const seqs = (): number[] => events().flatMap(({ id }) => (id === undefined ? [] : [Number(id)]))
  return { text: () => text, events, seqs, answer }
}

function parseEvents(text: string): ReturnType<Follower['events']> {
  const whole = text.split('\n\n').slice(0, -1)
  return whole
    .filter((block) => !block.startsWith(':'))
    .map((block) => {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)))
      return { ...fields, data: JSON.parse(fields.data as string) as unknown }
    })
}

test('the list and the lines are as the contract says', async () => {
  const { logs, url } = await stage()
  logs.write('org/a b#1#0', 'stdout', 'one')
  logs.write('org/a b#1#0', 'stderr', 'two')
  const list = logEntries.parse(await (await fetch(`${url}/logs`)).json())
  expect(list).toMatchObject([{ model_name: 'org/a b#1', replicas: [{ key: 'org/a b#1#0', lines: 2 }] }])
  for (const name of ['org/a b#1', 'org/a b#1#0']) {
    const answer = await fetch(`${url}/logs/${encodeURIComponent(name)}?stream=stderr&limit=5`)
    expect(logLines.parse(await answer.json()).lines.map(({ text }) => text)).toEqual(['two'])
  }
  expect(await (await fetch(`${url}/logs/org%2Fa`)).json()).toEqual({ lines: [] })
})

test.each([
  ['/logs/m?limit=0', 400, 'limit: '],
  ['/logs/m?limit=many', 400, 'limit: '],
  ['/logs/m?after=-1', 400, 'after: '],
  ['/logs/m?stream=stdin', 400, 'stream: '],
  ['/logs/m?colour=red', 400, '"colour"'],
  ['/logs/m?follow=yes', 400, 'follow: '],
  [`/logs/m?grep=${'x'.repeat(501)}`, 400, 'grep: '],
  ['/logs/50%', 400, 'URL-encoded'],
  ['/logs/org/m', 404, 'URL-encoded'],
])('%s is refused with %i', async (path, status, message) => {
  const { url } = await stage()
  const answer = await fetch(`${url}${path}`)
  const { error } = (await answer.json()) as { error: { message: string } }
  expect(answer.status).toBe(status)
  expect(error.message).toContain(message)
})

test('logs cannot be changed from outside', async () => {
  const { url } = await stage()
  expect((await fetch(`${url}/logs/m`, { method: 'DELETE' })).status).toBe(405)
})

test('a follower gets each line as an event with its number', async () => {
  const { logs, url } = await stage()
  logs.write('m#0', 'stdout', 'before')
  const follower = await follow(`${url}/logs/m?follow=1`)
  expect(follower.answer.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
  })
  await until(() => follower.events().length === 1)
  logs.write('m#1', 'stderr', 'two\nlines')
  await until(() => follower.events().length === 2)
  expect(follower.events()).toMatchObject([
    { id: '1', data: { seq: 1, replica: 'm#0', stream: 'stdout', text: 'before' } },
    { id: '2', data: { seq: 2, replica: 'm#1', stream: 'stderr', text: 'two\nlines' } },
  ])
})

test('a follower that comes back goes on where it was, whatever its URL says', async () => {
  const { logs, url } = await stage()
  for (let i = 1; i <= 5; i += 1) logs.write('m#0', 'stdout', String(i))
  const follower = await follow(`${url}/logs/m?follow=1&after=1`, { 'last-event-id': '3' })
  await until(() => follower.seqs().length === 2)
  expect(follower.seqs()).toEqual([4, 5])
  const bad = await fetch(`${url}/logs/m?follow=1`, { headers: { 'last-event-id': 'x' } })
  expect(bad.status).toBe(400)
})

test('a silent stream says every 15 s that it is alive', async () => {
  const { url, clock } = await stage()
  const follower = await follow(`${url}/logs/m?follow=1`)
  await clock.advance(14_000)
  expect(follower.text()).not.toContain('still here')
  await clock.advance(31_000)
  await until(() => follower.text().match(/: still here\n\n/g)?.length === 3)
  expect(follower.events()).toEqual([])
})

test('streams end with their readers and with the logs; new ones are refused then', async () => {
  const { logs, url, clock, responses } = await stage()
  const gone = await follow(`${url}/logs/m?follow=1`)
  gone.answer.destroy()
  await until(() => responses[0]!.destroyed)
  const follower = await follow(`${url}/logs/m?follow=1`)
  const ended = once(follower.answer, 'end')
  await logs.dispose()
  await ended
  await clock.advance(60_000)
  expect(follower.text()).not.toContain('still here')
  expect((await fetch(`${url}/logs/m?follow=1`)).status).toBe(503)
})

test('a reader too many is told to come later, and there is room again when one has gone', async () => {
  const { url } = await stage()
  const followers = await Promise.all(Array.from({ length: 100 }, () => follow(`${url}/logs/m?follow=1`)))
  const refused = await fetch(`${url}/logs/m?follow=1`)
  expect(refused.status).toBe(429)
  expect(refused.headers.get('retry-after')).toBe('10')
  followers[0]!.answer.destroy()
  await until(async () => {
    const { answer } = await follow(`${url}/logs/m?follow=1`)
    return answer.statusCode === 200
  })
  expect((await fetch(`${url}/logs/m`)).status).toBe(200)
})

function usedBytes(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

test('a reader that stops reading costs neither memory nor lines of others, and catches up with a word on what it missed', async () => {
  const { logs, url, responses } = await stage()
  const reader = await follow(`${url}/logs/m?follow=1`)
  logs.write('m#0', 'stdout', 'first')
  await until(() => reader.seqs().length === 1)
  reader.answer.pause()
  const before = usedBytes()
  // 100 MB, far more than the sockets in between can hold.
  const total = 100_000
  let mostWaiting = 0
  for (let i = 2; i <= total; i += 1) {
    logs.write('m#0', 'stdout', 'x'.repeat(1000))
    if (i % 200 !== 0) continue
    mostWaiting = Math.max(mostWaiting, responses[0]!.writableLength)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(logs.entries()[0]!.replicas[0]).toMatchObject({ lines: 1000, last_seq: total })
  expect(mostWaiting).toBeGreaterThan(0)
  expect(mostWaiting).toBeLessThan(512 * 1024)
  expect(usedBytes() - before).toBeLessThan(32 * 1024 * 1024)
  reader.answer.resume()
  await until(() => reader.text().includes(`id: ${total}\n`))
  const skips = reader.events().filter(({ event }) => event === 'skipped') as { data: { lines: number } }[]
  const skipped = skips.reduce((sum, { data }) => sum + data.lines, 0)
  const seqs = reader.seqs()
  expect(skips.length).toBeGreaterThan(0)
  expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b))
  expect(seqs.length + skipped).toBe(total)
  expect(reader.events().every(({ id, data }) => id === undefined || (data as LogLine).seq === Number(id))).toBe(true)
})

test('a reader that does not read is sent one piece at most, and cut off when the logs end', async () => {
  const { logs, url, responses } = await stage()
  const reader = await follow(`${url}/logs/m?follow=1`)
  reader.answer.pause()
  await until(async () => {
    for (let i = 0; i < 500; i += 1) logs.write('m#0', 'stdout', 'x'.repeat(4000))
    await new Promise((resolve) => setImmediate(resolve))
    return responses[0]!.writableNeedDrain
  })
  expect(responses[0]!.writableLength).toBeLessThan(512 * 1024)
  await logs.dispose()
  await until(() => responses[0]!.destroyed)
  expect(responses[0]!.writableFinished).toBe(false)
})
