import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Outcome, Scenario } from '../simulate.ts'
import { faultNumbersText, faultsOf, parseFaultNumbers, withFaults } from './shrink-faults.ts'
import { shrink, type RunOnce } from './shrink.ts'

const FAULT_EVERY_MS = 60_000

describe('shrinking', () => {
  test('leaves the two faults that matter out of hundreds', async () => {
    const { run } = aCluster({ needs: [7, 133] })
    const { scenario, faults, isDone } = await shrinkFrom(aScenario({ hours: 6 }), run)
    expect(faults).toEqual([7, 133])
    expect(isDone).toBe(true)
    expect(scenario.mostFaults).toBe(133)
    expect(scenario.skipFaults?.size).toBe(131)
  })

  test('ends at the violation, with as few machines and models as do it', async () => {
    const { run } = aCluster({ needs: [3], leastNodes: 3, leastModels: 2 })
    const { scenario, outcome } = await shrinkFrom(aScenario({ nodes: 50, models: 20, hours: 24 }), run)
    expect(scenario).toMatchObject({ seed: 1, nodes: 3, models: 2, hours: 24, untilHours: 0.05 })
    expect(outcome.violation).toMatchObject({ check: 'slots', atMs: 3 * FAULT_EVERY_MS })
  })

  test('needs few runs for a long history', async () => {
    const { run, ran } = aCluster({ needs: [1000] })
    const { faults } = await shrinkFrom(aScenario({ hours: 24 }), run)
    expect(faults).toEqual([1000])
    expect(ran.length).toBeLessThan(60)
  })

  test('a run that fails without any fault is left with none', async () => {
    const { run } = aCluster({ needs: [] })
    const { faults, scenario } = await shrinkFrom(aScenario({ hours: 1 }), run)
    expect(faults).toEqual([])
    expect(scenario).toMatchObject({ mostFaults: 0, nodes: 1, models: 1 })
  })

  test('a run that breaks another promise is not taken for it', async () => {
    const { run } = aCluster({ needs: [4, 9], otherwise: 'requests' })
    const { faults, outcome } = await shrinkFrom(aScenario({ hours: 1 }), run)
    expect(faults).toEqual([4, 9])
    expect(outcome.violation?.check).toBe('slots')
  })

  test('with no time left the best until then is what it finds', async () => {
    const { run, ran } = aCluster({ needs: [7, 133] })
    const shortOfTime: RunOnce = (scenario) => (ran.length > 20 ? Promise.resolve(undefined) : run(scenario))
    const { faults, outcome, isDone, runs } = await shrinkFrom(aScenario({ hours: 6 }), shortOfTime)
    expect(isDone).toBe(false)
    expect(runs).toBe(20)
    expect(faults).toContain(7)
    expect(faults.at(-1)).toBe(133)
    expect(faults.length).toBeLessThan(133)
    expect(outcome.violation?.check).toBe('slots')
  })

  test('faults that the run was told to leave out stay out', async () => {
    const { run } = aCluster({ needs: [5] })
    const { scenario } = await shrinkFrom({ ...aScenario({ hours: 1 }), skipFaults: new Set([2]), mostFaults: 20 }, run)
    expect(scenario.skipFaults).toEqual(new Set([1, 2, 3, 4]))
  })

  test('whatever matters, what is found fails, and no fault of it can be left out', async () => {
    const wanted = fc.uniqueArray(fc.integer({ min: 1, max: 120 }), { maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(wanted, fc.integer({ min: 1, max: 9 }), async (needs, leastNodes) => {
        const { run } = aCluster({ needs, leastNodes })
        const { scenario, faults, outcome } = await shrinkFrom(aScenario({ hours: 2 }), run)
        expect(faults).toEqual(needs.toSorted((a, b) => a - b))
        expect(await run(scenario)).toEqual(outcome)
      }),
    )
  })

  async function shrinkFrom(scenario: Scenario, run: RunOnce) {
    const outcome = await run(scenario)
    expect(outcome?.violation).toBeDefined()
    return await shrink(scenario, outcome!, run)
  }
})

describe('numbers of faults', () => {
  test('are written as ranges and read again', () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 300 })).map((list) => list.toSorted((a, b) => a - b))
    fc.assert(
      fc.property(numbers, (kept) => {
        expect(parseFaultNumbers(faultNumbersText(kept))).toEqual(kept)
        expect(faultsOf(withFaults(aScenario({}), kept), 1000)).toEqual(kept)
      }),
    )
    expect(faultNumbersText([1, 2, 3, 9])).toBe('1-3,9')
    expect(faultNumbersText([])).toBe('none')
  })

  test.each(['', '0', '3-1', '1,', 'a', '1-2-3', '-1', '9999999999'])('%j makes no sense', (text) => {
    expect(parseFaultNumbers(text)).toBeUndefined()
  })
})

function aScenario(given: Partial<Scenario>): Scenario {
  return { seed: 1, nodes: 10, models: 6, hours: 1, ...given }
}

interface Weakness {
  /** It breaks when all of these faults have happened. */
  needs: number[]
  leastNodes?: number
  leastModels?: number
  /** A promise that is broken at the end of every run that does not break this one. */
  otherwise?: string
}

/** Stands for the simulator: one fault a minute, and a weakness. */
function aCluster({ needs, leastNodes = 1, leastModels = 1, otherwise }: Weakness) {
  const ran: Scenario[] = []
  const run = (scenario: Scenario): Promise<Outcome> => {
    ran.push(scenario)
    const { seed, nodes, models, hours, untilHours = hours, mostFaults = Infinity, skipFaults } = scenario
    const endMs = Math.round(untilHours * 3_600_000)
    const due = Math.min(mostFaults, Math.floor(endMs / FAULT_EVERY_MS))
    const last = Math.max(0, ...needs)
    const countUpTo = (most: number): number => most - [...(skipFaults ?? [])].filter((number) => number <= most).length
    const isBroken =
      nodes >= leastNodes && models >= leastModels && last <= due && needs.every((n) => !skipFaults?.has(n))
    const check = isBroken ? 'slots' : otherwise
    const atMs = isBroken ? last * FAULT_EVERY_MS : endMs
    const outcome: Outcome = {
      seed,
      events: 9,
      virtualMs: atMs,
      counts: {},
      faultsInjected: countUpTo(isBroken ? last : due),
      traceHash: '',
    }
    if (check) outcome.violation = { check, message: 'two of them', event: 9, atMs, lastLines: [] }
    return Promise.resolve(outcome)
  }
  return { run, ran }
}
