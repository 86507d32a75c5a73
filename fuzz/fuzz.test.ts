import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { tempFolder } from '../test/support/temp-folder.ts'
import { fuzzTarget, type FuzzLimits } from './fuzz-target.ts'
import { hostileNode } from './hostile/hostile-node.ts'
import { plantedTargets } from './planted.ts'
import { keepRegression, REGRESSIONS, regressionsOf } from './regressions.ts'
import { fuzzTargets } from './targets.ts'
import { tryCases } from './try-cases.ts'

/** A few seconds for all of them together; npm run fuzz tries many more. */
const CASES = 200
/** As in all property tests: others with FLOTILLA_TEST_SEED. */
const seed = Number(process.env['FLOTILLA_TEST_SEED'] ?? 1)

describe.each(fuzzTargets.map((target) => [target.name, target] as const))('%s', (name, target) => {
  test('refuses what is wrong in words, whatever it is', async () => {
    const count = Math.ceil(CASES * (target.share ?? 1))
    expect((await tryCases(target, { count, seed }))?.why).toBeUndefined()
  })

  test('does what is right with everything that it once did wrong', async () => {
    for (const { file, bytes } of regressionsOf(name)) {
      await expect(Promise.resolve(target.read(bytes)), file).resolves.toBeUndefined()
    }
  })
})

test('every folder of regressions belongs to a target', () => {
  expect(fuzzTargets.map(({ name }) => name)).toEqual(expect.arrayContaining(readdirSync(REGRESSIONS)))
})

test('the page names every target, and a million cases and more', () => {
  const page = readFileSync(new URL('../docs/reference/fuzz.md', import.meta.url), 'utf8')
  for (const { name, reads } of fuzzTargets) expect(page).toContain(`| \`${name}\` | ${reads} | `)
  expect(Number(/tried ([\d,]+) cases/.exec(page)![1]!.replaceAll(',', ''))).toBeGreaterThan(1_000_000)
})

test('a hostile approved node ends no process and delays no other node', async () => {
  expect(await hostileNode({ messages: 2000, seed })).toMatchObject({ messages: 2000, finding: undefined })
})

test('the page has a run of the hostile node with 200,000 messages', () => {
  const page = readFileSync(new URL('../docs/reference/fuzz.md', import.meta.url), 'utf8')
  const [, messages, finding] = /## A hostile node[^]*?\n\| ([\d,]+) \|.*\| ([^|]+) \|\n/.exec(page)!
  expect(Number(messages!.replaceAll(',', ''))).toBeGreaterThanOrEqual(200_000)
  expect(finding).toBe('none')
})

describe('what is planted is found', () => {
  const targets = new URL('planted.ts', import.meta.url).href
  const limits: FuzzLimits = { batch: 500, batchMs: 60_000, heapMiB: 64 }
  const run = async (name: string, own: Partial<FuzzLimits> = {}) => {
    const target = plantedTargets.find((one) => one.name === name)!
    return fuzzTarget(target, { targets, cases: 1000, seed: 1 }, { ...limits, ...own })
  }

  test('an error that is no refusal, with the smallest case that shows it', async () => {
    const { finding } = await run('throws')
    expect(finding?.bytes.toString()).toBe('!')
    const folder = tempFolder()
    keepRegression('throws', finding!, folder)
    expect(regressionsOf('throws', folder)).toMatchObject([{ bytes: Buffer.from('!') }])
  })

  test('a case that does not end', async () => {
    const { finding } = await run('hangs', { batchMs: 1000 })
    expect(finding?.why).toContain('did not end')
    expect(finding?.bytes.includes('!')).toBe(true)
  })

  test('one that waits for what never comes', async () => {
    const { finding } = await run('never answers')
    expect(finding?.why).toContain('was never answered')
    expect(finding?.bytes.includes('!')).toBe(true)
  })

  test('one that takes all memory', async () => {
    expect((await run('devours')).finding?.why).toContain('memory')
  })

  test('one that changes what every object has', async () => {
    expect((await run('pollutes')).finding?.why).toContain('Object.prototype was polluted: polluted')
    expect('polluted' in {}).toBe(false)
  })

  test('and nothing where nothing is', async () => {
    expect(await run('plain')).toMatchObject({ cases: 1000, finding: undefined })
  })
})
