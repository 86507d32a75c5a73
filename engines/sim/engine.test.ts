import { expect, test } from 'vitest'
import { VirtualClock } from '../../test/support/virtual-clock.ts'
import type { Clock } from './clock.ts'
import { Engine } from './engine.ts'
import { parseFault } from './faults.ts'
import { parseOptions } from './options.ts'
import { parseCompletion } from './requests.ts'

function anEngine(flags: string, clock: Clock, crash: (exitCode: number) => void = () => {}): Engine {
  const options = parseOptions(['--port', '0', ...flags.split(' ').filter(Boolean)])
  if (options === 'help') throw new Error('no options')
  return new Engine(options, clock, crash)
}

/** Pulls the tokens of one request as they come, noting when. */
function follow(engine: Engine, clock: VirtualClock, body: object, signal = new AbortController().signal) {
  const { tally, tokens } = engine.complete(parseCompletion({ prompt: 'hello', ...body }), signal, 'prompt')
  const times: number[] = []
  const done = (async () => {
    for await (const group of tokens) times.push(...group.map(() => clock.nowMs()))
  })()
  return { tally, times, done }
}

test('tokens come when they are due: first after ttft and prefill, then at a steady pace', async () => {
  const clock = new VirtualClock()
  const engine = anEngine('--ttft-ms 100 --prefill-tokens-per-s 10 --tokens-per-s 10', clock)
  const { times, done } = follow(engine, clock, { max_tokens: 4 })
  await clock.advance(10_000)
  await done
  expect(times).toEqual([200, 300, 400, 500])
})

test('a read prompt is cached: the same one starts sooner', async () => {
  const clock = new VirtualClock()
  const engine = anEngine('--ttft-ms 0 --prefill-tokens-per-s 1 --tokens-per-s 0', clock)
  const first = follow(engine, clock, { prompt: 'a b c', max_tokens: 1 })
  await clock.advance(5000)
  const second = follow(engine, clock, { prompt: 'a b c d', max_tokens: 1 })
  await clock.advance(5000)
  await Promise.all([first.done, second.done])
  expect([...first.times, ...second.times]).toEqual([3000, 6000])
  expect(second.tally).toMatchObject({ promptTokens: 4, cachedTokens: 3 })
  expect(engine.counters.prefixHits).toBe(1)
})

test('late timers do not add up: tokens that fell due meanwhile come together', async () => {
  const clock = new VirtualClock()
  const late: Clock = { nowMs: () => clock.nowMs(), after: (delayMs, callback) => clock.after(delayMs + 7, callback) }
  const engine = anEngine('--ttft-ms 0 --prefill-tokens-per-s 0 --tokens-per-s 1000', late)
  const { times, done } = follow(engine, clock, { max_tokens: 500, ignore_eos: true })
  await clock.advance(1000)
  await done
  expect(times).toHaveLength(500)
  times.forEach((atMs, index) => {
    expect(atMs).toBeGreaterThanOrEqual(index)
    expect(atMs).toBeLessThanOrEqual(index + 8)
  })
})

test('slow stretches every wait', async () => {
  const clock = new VirtualClock()
  const engine = anEngine('--ttft-ms 100 --prefill-tokens-per-s 0 --tokens-per-s 10', clock)
  const fault = parseFault({ kind: 'slow', factor: 3 })
  if (typeof fault !== 'string') engine.faults.set(fault)
  const { times, done } = follow(engine, clock, { max_tokens: 3 })
  await clock.advance(10_000)
  await done
  expect(times).toEqual([300, 600, 900])
})

test('a stream that hung goes on at its pace, without a burst', async () => {
  const clock = new VirtualClock()
  const engine = anEngine('--ttft-ms 0 --prefill-tokens-per-s 0 --tokens-per-s 10', clock)
  const fault = parseFault({ kind: 'hang', after_tokens: 2 })
  if (typeof fault !== 'string') engine.faults.set(fault)
  const { times, done } = follow(engine, clock, { max_tokens: 4 })
  await clock.advance(5000)
  expect(times).toEqual([0, 100])
  const none = parseFault({ kind: 'none' })
  if (typeof none !== 'string') engine.faults.set(none)
  await clock.advance(5000)
  await done
  expect(times).toEqual([0, 100, 5000, 5100])
})

test('requests beyond the slots wait, and one whose client is gone leaves the queue at once', async () => {
  const clock = new VirtualClock()
  const engine = anEngine('--parallel 1 --queue 2 --ttft-ms 0 --prefill-tokens-per-s 0 --tokens-per-s 1', clock)
  const gone = new AbortController()
  const running = follow(engine, clock, { max_tokens: 3 })
  const leaving = follow(engine, clock, { max_tokens: 3 }, gone.signal)
  const waiting = follow(engine, clock, { max_tokens: 3 })
  expect([engine.slots.inUse, engine.slots.queued]).toEqual([1, 2])
  await expect(follow(engine, clock, {}).done).rejects.toThrow('queue is full')
  gone.abort()
  expect([engine.slots.inUse, engine.slots.queued]).toEqual([1, 1])
  await clock.advance(60_000)
  await Promise.all([running.done, leaving.done, waiting.done])
  expect(running.times).toEqual([0, 1000, 2000])
  expect(leaving.times).toEqual([])
  expect(waiting.times).toEqual([2000, 3000, 4000])
  expect([engine.slots.inUse, engine.slots.queued]).toEqual([0, 0])
})

test('a client that leaves in the middle frees its slot at once', async () => {
  const clock = new VirtualClock()
  const engine = anEngine('--ttft-ms 0 --prefill-tokens-per-s 0 --tokens-per-s 1', clock)
  const gone = new AbortController()
  const { times, done } = follow(engine, clock, {}, gone.signal)
  await clock.advance(1500)
  gone.abort()
  await done
  expect(times).toEqual([0, 1000])
  expect(engine.slots.inUse).toBe(0)
})

test('prompt and answer share the context', async () => {
  const clock = new VirtualClock()
  const engine = anEngine('--context 6 --ttft-ms 0 --prefill-tokens-per-s 0 --tokens-per-s 0', clock)
  expect(() => follow(engine, clock, { prompt: 'a b c d e f' })).toThrow('maximum context length is 6 tokens')
  const { tally, done } = follow(engine, clock, { prompt: 'a b' })
  await done
  expect(tally).toMatchObject({ completionTokens: 4, finishReason: 'length' })
})

test('streams side by side write no more than the tokens before a fault', async () => {
  const clock = new VirtualClock()
  const exits: number[] = []
  const engine = anEngine('--ttft-ms 0 --prefill-tokens-per-s 0 --tokens-per-s 0', clock, (code) => exits.push(code))
  const fault = parseFault({ kind: 'crash', after_tokens: 5, exit_code: 4 })
  if (typeof fault !== 'string') engine.faults.set(fault)
  const streams = [follow(engine, clock, {}), follow(engine, clock, {})]
  await clock.advance(1000)
  expect(streams.flatMap(({ times }) => times)).toHaveLength(5)
  expect(exits).toEqual([4])
})
