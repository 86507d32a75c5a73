import { describe, expect, test, vi } from 'vitest'
import { EventQueue, START_MS } from './event-queue.ts'
import { Random } from './random.ts'
import { simulate, type Outcome, type Scenario } from './simulate.ts'

// Several runs in one test, on a machine that has other things to do.
vi.setConfig({ testTimeout: 180_000 })

const small = { nodes: 4, models: 3, hours: 0.05 }
const hashOf = async (scenario: Partial<Scenario> & { seed: number }): Promise<string> =>
  (await simulate({ ...small, ...scenario })).traceHash

describe('one seed has one history', () => {
  test('the same seed gives the same trace, whatever ran before it in this process, and another seed another', async () => {
    const first = await hashOf({ seed: 7 })
    const other = await hashOf({ seed: 8 })
    expect(await hashOf({ seed: 7 })).toBe(first)
    expect(other).not.toBe(first)
  })

  test('who follows the transcript changes nothing', async () => {
    const lines: string[] = []
    const followed = await hashOf({ seed: 9, onLine: (line) => lines.push(line) })
    expect(await hashOf({ seed: 9 })).toBe(followed)
    expect(lines.filter((line) => line.includes(' fault '))).not.toHaveLength(0)
  })

  test('time and chance are given back', async () => {
    const before = { random: Math.random, now: Date.now, limit: Error.stackTraceLimit }
    await simulate({ seed: 1, ...small, hours: 0.02 })
    expect({ random: Math.random, now: Date.now, limit: Error.stackTraceLimit }).toEqual(before)
  })

  test('events run in order of time, and those of one time in the order they were asked for', async () => {
    const queue = new EventQueue()
    const random = new Random(1)
    const ran: [number, number][] = []
    for (let i = 0; i < 500; i += 1) queue.after(random.between(0, 50), () => ran.push([queue.nowMs, i]))
    const callOff = queue.after(10, () => ran.push([0, -1]))
    callOff()
    await queue.runUntil(START_MS + 100, () => true)
    expect(ran).toHaveLength(500)
    expect(ran).toEqual(ran.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]))
  })

  test('between two events all that the first set going has settled', async () => {
    const queue = new EventQueue()
    const seen: string[] = []
    queue.after(1, () => {
      void (async () => {
        for (let i = 0; i < 1000; i += 1) await Promise.resolve()
        seen.push('settled')
      })()
    })
    queue.after(1, () => seen.push('next'))
    await queue.runUntil(START_MS + 10, () => true)
    expect(seen).toEqual(['settled', 'next'])
  })
})

describe('faults', () => {
  test('one that is left out, or cut off after so many, changes nothing of those before it', async () => {
    const faultsOf = async (scenario: Partial<Scenario>): Promise<string[]> => {
      const lines: string[] = []
      await simulate({ seed: 5, ...small, ...scenario, onLine: (line) => lines.push(line) })
      return lines.flatMap((line) => / fault +(#.*)/.exec(line)?.[1] ?? [])
    }
    const all = await faultsOf({})
    expect(all.length).toBeGreaterThan(5)
    expect(await faultsOf({ mostFaults: 4 })).toEqual(all.slice(0, 4))
    const without = await faultsOf({ skipFaults: new Set([2]) })
    expect(without[0]).toBe(all[0])
    expect(without.map((line) => line.split(':')[0])).toEqual(
      all.filter((line) => !line.startsWith('#2 ')).map((line) => line.split(':')[0]),
    )
  })

  test('only the kinds that are asked for happen', async () => {
    const kinds = new Set<string>()
    const note = (line: string): void => {
      const kind = / fault +#\d+ ([a-z-]+):/.exec(line)?.[1]
      if (kind) kinds.add(kind)
    }
    await simulate({ seed: 3, ...small, faults: ['kill-worker', 'drain'], onLine: note })
    expect(kinds).toEqual(new Set(['kill-worker', 'drain']))
  })
})

/** A fixed budget: other seeds are for `npm run sim`. */
describe('the promises hold', () => {
  const seeds = Array.from({ length: 12 }, (_, index) => index + 1)
  const all: Outcome[] = []

  test.each(seeds)('with seed %i', async (seed) => {
    const outcome = await simulate({ seed, nodes: 6, models: 4, hours: 0.3 })
    all.push(outcome)
    expect(outcome.violation).toBeUndefined()
  })

  test('and there was something to hold against', () => {
    const sum = (name: string): number => all.reduce((total, { counts }) => total + (counts[name] ?? 0), 0)
    expect(sum('served')).toBeGreaterThan(500)
    expect(sum('starts')).toBeGreaterThan(100)
    expect(sum('brokenOff')).toBeGreaterThan(0)
    expect(all.reduce((total, { faultsInjected }) => total + faultsInjected, 0)).toBeGreaterThan(300)
  })

  test('also on one node', async () => {
    for (let seed = 1; seed <= 2; seed += 1) {
      expect((await simulate({ seed, nodes: 1, models: 6, hours: 0.2 })).violation).toBeUndefined()
    }
  })
})
