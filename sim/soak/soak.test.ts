import { describe, expect, onTestFinished, test } from 'vitest'
import fs from 'node:fs'
import path from 'node:path'
import { tempFolder } from '../../test/support/temp-folder.ts'
import { SIMULATOR, type Ran } from './soak-order.ts'
import { Pool } from './soak-pool.ts'
import { soak } from './soak.ts'

describe('a soak', () => {
  test('runs every seed once and adds up what happened', async () => {
    const seen: number[] = []
    const tally = await soak({ ...aSoak(), run: (seed) => (seen.push(seed), Promise.resolve(aRun(seed))) })
    expect(seen.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(tally).toMatchObject({
      seeds: 10,
      failed: 0,
      events: 100,
      counts: { served: 30 },
      faults: 20,
      longestCpuMs: 5,
    })
    expect(tally.range()).toEqual([1, 10])
  })

  test('gives one at a time to each job', async () => {
    let most = 0
    let now = 0
    const run = async (seed: number): Promise<Ran> => {
      now += 1
      most = Math.max(most, now)
      await Promise.resolve()
      now -= 1
      return aRun(seed)
    }
    await soak({ ...aSoak(), jobs: 3, run })
    expect(most).toBe(3)
  })

  test('has the same history in whatever order the runs end', async () => {
    const slowOnes = async (seed: number): Promise<Ran> => {
      for (let i = 0; i < (seed % 3) * 5; i += 1) await Promise.resolve()
      return aRun(seed)
    }
    const one = await soak({ ...aSoak(), jobs: 1 })
    const many = await soak({ ...aSoak(), jobs: 4, run: slowOnes })
    expect(many.history()).toBe(one.history())
    expect(one.history()).not.toBe((await soak({ ...aSoak(), nextSeed: upTo(9) })).history())
  })

  test('a violation ends it, after those with a lower seed and without those with a higher one', async () => {
    const aborted: number[] = []
    const run = (seed: number, signal: AbortSignal): Promise<Ran | undefined> => {
      if (seed === 2) return later(20, aRun(2, 'slots'))
      if (seed === 3) return Promise.resolve(aRun(3, 'routes'))
      return new Promise((resolve) => signal.addEventListener('abort', () => (aborted.push(seed), resolve(undefined))))
    }
    const tally = await soak({ ...aSoak(), jobs: 4, nextSeed: upTo(10, 2), run })
    expect(tally.failures.map(({ seed }) => seed)).toEqual([2, 3])
    expect(aborted).toEqual([4, 5])
  })

  test('goes on if it is told to, and lists what failed in order', async () => {
    const run = (seed: number): Promise<Ran> => later(20 - seed, aRun(seed, seed % 2 ? 'slots' : undefined))
    const tally = await soak({ ...aSoak(), keepsGoing: true, run })
    expect(tally.seeds).toBe(10)
    expect(tally.failures.map(({ seed }) => seed)).toEqual([1, 3, 5, 7, 9])
  })

  test('ends with what there is when it is called off', async () => {
    const controller = new AbortController()
    const run = (seed: number): Promise<Ran> => {
      if (seed === 4) controller.abort()
      return Promise.resolve(aRun(seed))
    }
    const tally = await soak({ ...aSoak(), jobs: 1, nextSeed: upTo(Infinity), run, signal: controller.signal })
    expect(tally.seeds).toBe(4)
  })
})

describe('child processes', () => {
  test('a child that answers is used again, one that dies or throws is told as a failure of that seed', async () => {
    const pool = aPool(`
      process.on('message', ({ scenario: { seed } }) => {
        if (seed === 3) { console.error('out of luck'); process.exit(7) }
        process.send({ outcome: { seed, events: process.pid }, lines: [], cpuMs: 1, memoryBytes: 1 })
      })`)
    const [first, second, third, fourth] = [await ask(1), await ask(2), await ask(3), await ask(4)]
    expect(second!.outcome.events).toBe(first!.outcome.events)
    expect(third!.outcome.violation).toMatchObject({
      check: SIMULATOR,
      message: 'the process ended with exit code 7. out of luck',
    })
    expect(fourth!.outcome.events).not.toBe(first!.outcome.events)

    function ask(seed: number) {
      return pool.run({ scenario: { seed, nodes: 1, models: 1, hours: 1 }, lines: 0 })
    }
  })

  test('a run that is called off does not wait for its end', async () => {
    const pool = aPool(`process.on('message', () => {}); setInterval(() => {}, 1000)`)
    const scenario = { seed: 1, nodes: 1, models: 1, hours: 1 }
    expect(await pool.run({ scenario, lines: 0 }, AbortSignal.timeout(50))).toBeUndefined()
    expect(await pool.run({ scenario, lines: 0 }, AbortSignal.abort())).toBeUndefined()
  })

  function aPool(program: string): Pool {
    const file = path.join(tempFolder(), 'child.mjs')
    fs.writeFileSync(file, program)
    const pool = new Pool(file)
    onTestFinished(() => pool[Symbol.dispose]())
    return pool
  }
})

function aSoak() {
  const run = (seed: number): Promise<Ran> => Promise.resolve(aRun(seed))
  return { nextSeed: upTo(10), run, jobs: 2, keepsGoing: false, signal: new AbortController().signal }
}

function upTo(last: number, first = 1): () => number | undefined {
  let next = first
  return () => (next <= last ? next++ : undefined)
}

function aRun(seed: number, check?: string): Ran {
  const outcome = { seed, events: 10, virtualMs: 1000, counts: { served: 3 }, faultsInjected: 2, traceHash: `h${seed}` }
  const violation = { check: check ?? '', message: 'm', event: 1, atMs: 1, lastLines: [] }
  return { outcome: check ? { ...outcome, violation } : outcome, lines: [], cpuMs: 5, memoryBytes: 1 }
}

function later<Value>(ms: number, value: Value): Promise<Value> {
  return new Promise((resolve) => setTimeout(() => resolve(value), ms))
}
