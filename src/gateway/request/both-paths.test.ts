import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import type { DecisionRecord } from '../../api/decision-record.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { CountedShortcut } from '../../../test/support/http/counted-shortcut.ts'
import { rawEngine } from '../../../test/support/worker/data-port.ts'
import { aGateway } from '../../../test/support/gateway/gateway-stage.ts'
import { KeptClient, type KeptAnswer } from '../../../test/support/http/kept-client.ts'
import { deeds, scriptedUpstream, type Deed } from '../../../test/support/http/scripted-upstream.ts'
import { until } from '../../../test/support/until.ts'
import { WaitingRoom } from '../deliver/waiting-room.ts'

/** The body of a request; `rest` is how it goes on after its deeds. */
const bodies = {
  ordinary: (start: string) => `${start}}`,
  'with all that chats have': (start: string) =>
    `${start},"messages":[{"role":"user","content":"\\"ä\\u00e9\\n"}],"temperature":0.5,"stream":false,"user":"u1"}`,
  'for a stream': (start: string) => `${start},"stream":true}`,
  'for a stream, in other words': (start: string) => `${start},"stream":"true"}`,
  'with two models': (start: string) => `${start},"model":"unknown"}`,
  'with a session': (start: string) => `${start},"metadata":{"user_id":"u2"}}`,
  'with an escape': (start: string) => `${start.replace('"m"', '"\\u006d"')}}`,
  'for nobody': (start: string) => `${start.replace('"m"', '"unknown"')}}`,
  'without a model': (start: string) => `${start.replace('"model"', '"modell"')}}`,
  'no JSON': (start: string) => `${start},}`,
  'of 16 KiB': (start: string) => `${start},"x":"${'y'.repeat(16_384 - start.length - 8)}"}`,
  'of 20 KiB': (start: string) => `${start},"x":"${'y'.repeat(20_000)}"}`,
}
type Body = keyof typeof bodies

const heads = {
  plain: [],
  'of a library': ['Accept: */*', 'User-Agent: x', 'accept-encoding: gzip, br', 'Connection: keep-alive'],
  'with a key': ['Authorization: Bearer whatever', 'x-api-key: k'],
  'of a session': ['X-Session-Id: s'],
  'the last': ['Connection: close'],
} satisfies Record<string, string[]>

interface Request {
  body: Body
  deeds: Deed[]
  head: keyof typeof heads
  hasId: boolean
  isJson: boolean
  path: '/v1/x' | '/v1/chat/completions' | '/v1/messages' | '/v1/x?a=b'
}

const mostly = <T>(first: T, others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 15, arbitrary: fc.constant(first) }, { weight: 1, arbitrary: fc.constantFrom(...others) })
const anyDeed = fc.constantFrom(...deeds)
const SAFE = deeds.filter((deed) => /^whole|^in |^as |^bad/.test(deed))
const HEADS = Object.keys(heads) as Request['head'][]
const PATHS: readonly Request['path'][] = ['/v1/x', '/v1/chat/completions', '/v1/messages', '/v1/x?a=b']

/** Requests of one client, which mostly asks in the same way; those in one list are sent together. */
const plan: fc.Arbitrary<Request[][]> = fc
  .record({
    head: fc.constantFrom(...HEADS.slice(0, -1)),
    path: fc.constantFrom(...PATHS.slice(0, -1)),
    hasId: fc.boolean(),
  })
  .chain((usual) => {
    const request: fc.Arbitrary<Request> = fc.record({
      body: fc.oneof(
        fc.constant<Body>('ordinary'),
        mostly<Body>('with all that chats have', Object.keys(bodies) as Body[]),
      ),
      deeds: fc.array(anyDeed, { minLength: 1, maxLength: 3 }),
      head: mostly(usual.head, HEADS),
      hasId: mostly(usual.hasId, [true, false]),
      isJson: mostly(true, [false]),
      path: mostly(usual.path, PATHS),
    })
    const one = fc.tuple(request)
    // What fails beside another is a matter of time.
    const safe = fc.tuple(request, fc.constantFrom(...SAFE)).map(([asked, deed]) => ({ ...asked, deeds: [deed] }))
    const first: Request = { ...usual, body: 'ordinary', deeds: ['whole'], isJson: true }
    return fc
      .array(fc.oneof({ weight: 6, arbitrary: one }, { weight: 1, arbitrary: fc.tuple(safe, safe) }), {
        minLength: 3,
        maxLength: 10,
      })
      .map((list) => [[first], ...list])
  })

test('whatever is asked and answered, all is as it is by the long way', { timeout: 120_000 }, async () => {
  // Whether a connection was stale is a matter of time, and nothing here may be.
  const stopped = vi.spyOn(performance, 'now').mockReturnValue(1_000_000)
  const total = { taken: 0, answered: 0, lengthened: 0, begun: 0 }
  try {
    await fc.assert(
      fc.asyncProperty(plan, async (asked) => {
        const byShortcut = new CountedShortcut()
        const short = await play(asked, byShortcut)
        const long = await play(asked, undefined)
        expect(short).toEqual(long)
        for (const key of ['taken', 'answered', 'lengthened', 'begun'] as const) total[key] += byShortcut[key]
      }),
      { numRuns: 80 },
    )
  } finally {
    stopped.mockRestore()
  }
  // All ways must have been gone, or the comparison says little.
  expect(total.answered).toBeGreaterThan(50)
  expect(total.lengthened).toBeGreaterThan(50)
  expect(total.begun).toBeGreaterThan(5)
  expect(total.answered + total.lengthened).toBe(total.taken)
})

/** All that can be seen of it: answers, records, what the workers got. */
async function play(asked: readonly Request[][], counted: CountedShortcut | undefined) {
  let nowMs = 1_000_000
  const clock = { nowMs: () => nowMs, after: systemClock.after.bind(systemClock) }
  const timesSent = new Map<string, number>()
  const workers = [scriptedUpstream(timesSent), scriptedUpstream(timesSent)]
  const addresses = await Promise.all(workers.map(async (one) => `127.0.0.1:${await rawEngine(one.onConnection)}`))
  const waitingRoom = new WaitingRoom(clock)
  const shortcut = counted?.around ?? (() => undefined)
  const gateway = await aGateway([], { addresses, clock, waitingRoom, shortcut, exposeNode: true })
  const client = new KeptClient(gateway.url)
  const answers: unknown[] = []
  const records: unknown[] = []
  for (const [i, together] of asked.entries()) {
    nowMs += 10
    const bytes = Buffer.concat(together.map((one, j) => bytesOf(one, `id-${i}-${j}`)))
    for (const [j, answer] of (await client.ask(bytes, together.length)).entries()) {
      answers.push(withoutChance(answer, `id-${i}-${j}`))
      const id = answer.headers.find(([name]) => name === 'x-request-id')?.[1]
      if (id === undefined) continue
      await until(() => gateway.decisions.find(id) !== undefined)
      records.push(withoutTime(gateway.decisions.find(id)!))
    }
  }
  client.close()
  await until(() => Object.keys(gateway.table.ownCounts()).length === 0 && waitingRoom.running === 0)
  expect(waitingRoom.countsOf('m')).toEqual({ running: 0, waiting: 0 })
  return { answers, records, seen: workers.map(({ seen }) => seen) }
}

function bytesOf({ body, deeds: wanted, head, hasId, isJson, path }: Request, id: string): Buffer {
  const text = Buffer.from(bodies[body](`{"model":"m","deeds":${JSON.stringify(wanted)}`))
  const type = `Content-Type: ${isJson ? 'application/json' : 'text/plain'}`
  const lines = ['Host: 127.0.0.1', type, ...heads[head], `Content-Length: ${text.length}`]
  if (hasId) lines.push(`X-Request-Id: ${id}`)
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`), text])
}

function withoutChance(answer: KeptAnswer, id: string): KeptAnswer {
  const headers = answer.headers.map(([name, value]): [string, string] => {
    if (name === 'x-request-id') return [name, value === id ? 'its own' : String(/^[\da-f-]{36}$/.test(value))]
    return [name, name === 'date' && !value.includes('2024') ? 'now' : value]
  })
  return { ...answer, headers }
}

function withoutTime(record: DecisionRecord) {
  return {
    ...record,
    request_id: '',
    at: 0,
    duration_ms: 0,
    queued_ms: 0,
    load_wait_ms: 0,
    candidates: record.candidates.map((one) => ({ ...one, idle_ms: 0 })),
    tries: record.tries.map((one) => ({ ...one, ms: 0 })),
  }
}
