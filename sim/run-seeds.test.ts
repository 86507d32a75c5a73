import { describe, expect, test } from 'vitest'
import { runSeeds, type Surroundings } from './run-seeds.ts'
import type { Order, Ran } from './soak/soak-order.ts'

test('all is well: what ran, what happened, how long it took', async () => {
  const { stdout, stderr, code } = await command('--seeds 3 --nodes 4 --hours 2')
  expect(code).toBe(0)
  expect(stderr).toBe('')
  expect(stdout).toBe(
    [
      'Flotilla simulator: seeds 1 to 3, 4 nodes, 6 models,',
      '2 h with faults and a quiet time after them, each',
      'commit 123',
      '',
      '  virtual time            6 h 0 min    events                         30',
      '  faults                          0    history          faceb40dc8c9c3b3',
      '  served                      3,000    out of memory                   6',
      '',
      'All checks held.',
      '',
      'Took 0 s with 2 side by side: 0 s of CPU time, 0.1 s a seed, 0.1 s at most.',
      '',
    ]
      .join('\n')
      .replace('faceb40dc8c9c3b3', historyIn(stdout)),
  )
})

test('a violation names seed and commit, tells what happened in the shortest run, and how to repeat it', async () => {
  const { stdout, stderr, code } = await command('--seeds 5 --nodes 40 --hours 3', { failsAt: 2 })
  expect(code).toBe(1)
  // At once, for who reads the log of a run that takes hours.
  expect(stderr).toContain('seed 2 failed: slots (invariant 1): two rows of m1#0 on n3\n')
  expect(widest(stdout)).toBeLessThanOrEqual(80)
  expect(stdout).toContain(
    [
      'VIOLATED: slots (invariant 1)',
      '  two rows of m1#0 on n3',
      '',
      '  in seed 2, event 9, 01:00:00.000 after the start',
      '  of commit 123',
      '',
      'The shortest run found that violates the same check:',
    ].join('\n'),
  )
  expect(stdout).toMatch(/ {2}1 of 60 faults, 1 of 40 nodes, 1 of 6 models, 1 of 3 h \(\d+ tries\)\n/)
  expect(stdout).toMatch(
    /\nWhat happened:\n(.*\n)*> 01:00:00\.000 fault #60 drain: n3 is drained\n {2}01:00:00\.000 here the check fails:\n {21}two rows of m1#0 on n3\n/,
  )
  expect(stdout).toContain(
    [
      'Repeat the shortest run with:',
      '  npm run sim -- --seed 2 --seeds 1 --nodes 1 --models 1 --hours 3 \\',
      '    --until 1 --only-faults 60',
      '',
      'Repeat the whole run with:',
      '  npm run sim -- --seed 2 --seeds 1 --nodes 40 --hours 3',
    ].join('\n'),
  )
})

test('what is to be repeated fails again, the same way', async () => {
  const { stdout, code } = await command('--seed 2 --seeds 1 --nodes 1 --models 1 --hours 1 --only-faults 60', {
    failsAt: 2,
  })
  expect(code).toBe(1)
  expect(stdout).toMatch(/No shorter run was found that violates the same check:\n {2}\d tries\n/)
})

test('shrinking can be left out', async () => {
  const { stdout, orders } = await command('--seeds 5 --hours 1 --no-shrink', { failsAt: 2 })
  expect(stdout).toContain('No shorter run was found that violates the same check:\n  0 tries, then time was over\n')
  expect(stdout).toContain('> 01:00:00.000 fault #60')
  expect(orders.filter(({ lines }) => lines > 0)).toHaveLength(1)
})

test('going on lists every seed that failed', async () => {
  const { stdout } = await command('--seed 2 --seeds 3 --hours 1 --keep-going --no-shrink', { failsAt: 'each' })
  expect(stdout).toContain(
    '  3 of 3 seeds failed; the others:\n    seed 3: slots (invariant 1)\n    seed 4: slots (invariant 1)\n',
  )
})

test('a soak runs new seeds until its time is over', async () => {
  const { stdout, code, orders } = await command('--soak 10s', { secondsEach: 1 })
  expect(code).toBe(0)
  expect(orders.map(({ scenario: { seed } }) => seed)).toEqual([7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
  expect(stdout).toMatch(/^Flotilla simulator: seeds 7 to 16,/)
})

test('Ctrl-C ends with the report so far', async () => {
  const { stdout, code } = await command('--seeds 100', { stopAfter: 4 })
  expect(code).toBe(130)
  expect(stdout).toMatch(/^Flotilla simulator: seeds 1 to 4,.*\n.*\n.*\nCalled off: this is what there is so far\.\n/)
  expect((await command('--soak forever', { stopAfter: 4 })).code).toBe(0)
  expect((await command('', { stopAfter: 0 })).stdout).toBe(
    'Flotilla simulator: called off before any seed was through.\n',
  )
})

test('a terminal sees how far it is, in one line that goes away', async () => {
  const { stderr, stdout } = await command('--seeds 3', { isTerminal: true, secondsEach: 1 })
  expect(stderr.split('\r').slice(1)).toEqual([
    'the first runs are under way\u001B[K',
    '1 of 3 seeds, 0 failed, 7,200 times real time, 2 s left\u001B[K',
    '2 of 3 seeds, 0 failed, 7,200 times real time, 1 s left\u001B[K',
    '3 of 3 seeds, 0 failed, 7,200 times real time, 0 s left\u001B[K',
    '\u001B[K',
  ])
  expect(stdout).toContain('All checks held.')
})

test('elsewhere a line a minute says it', async () => {
  const { stderr } = await command('--seeds 3', { secondsEach: 45 })
  expect(stderr).toBe('2 of 3 seeds, 0 failed, 160 times real time, 45 s left\n')
})

test('as JSON for programs', async () => {
  const { stdout, code } = await command('--seeds 5 --hours 1 --jobs 1 --json --no-shrink', { failsAt: 2 })
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    commit: 'commit 123',
    scale: { nodes: 10, models: 6, hours: 1, faults: 'all', bug: null },
    first_seed: 1,
    last_seed: 2,
    counts: { served: 2000 },
    failed: 1,
    failures: [{ seed: 2, check: 'slots (invariant 1)', command: 'npm run sim -- --seed 2 --seeds 1 --hours 1' }],
    shortest: { faults: expect.arrayContaining([60]) as number[] },
  })
})

describe('what needs no run', () => {
  test('help and lists', async () => {
    expect((await command('--help')).stdout).toMatch(/^Usage: npm run sim -- \[options\]\n/)
    expect((await command('--faults list')).stdout).toBe(
      'Kinds of faults, for --faults:\n\n  drain  somebody drains a node\n',
    )
    expect((await command('--bug list')).stdout).toBe('Planted bugs, for --bug:\n\n  bad  very bad\n')
  })

  test('a mistake ends with 2', async () => {
    const { stdout, stderr, code } = await command('--seeds none')
    expect({ stdout, stderr, code }).toEqual({
      stdout: '',
      stderr: 'npm run sim: --seeds takes a whole number from 1 to 1000000. See npm run sim -- --help.\n',
      code: 2,
    })
  })
})

interface Scene {
  failsAt?: number | 'each'
  secondsEach?: number
  stopAfter?: number
  isTerminal?: boolean
}

/** The command on clusters that have a fault a minute, and fail at the 60th if they fail. */
async function command(line: string, { failsAt, secondsEach = 0, stopAfter, isTerminal = false }: Scene = {}) {
  const stop = new AbortController()
  const orders: Order[] = []
  const texts = { stdout: '', stderr: '' }
  let nowMs = 0
  const run: Surroundings['run'] = (order, signal) => {
    if (signal.aborted) return Promise.resolve(undefined)
    orders.push(order)
    nowMs += secondsEach * 1000
    if (orders.length === stopAfter) stop.abort()
    return Promise.resolve(aRun(order, failsAt === 'each' || order.scenario.seed === failsAt))
  }
  if (stopAfter === 0) stop.abort()
  const code = await runSeeds(line.split(' ').filter(Boolean), {
    choices: { faults: { drain: 'somebody drains a node' }, bugs: { bad: 'very bad' } },
    run,
    showPlanted: () => Promise.resolve(true),
    print: (text) => (texts.stdout += text),
    complain: (text) => (texts.stderr += text),
    isTerminal,
    nowMs: () => nowMs,
    cores: secondsEach > 0 ? 1 : 2,
    newSeed: () => 7,
    commit: () => 'commit 123',
    signal: stop.signal,
  })
  return { ...texts, code, orders }
}

function aRun({ scenario, lines }: Order, isBad: boolean): Ran {
  const { seed, hours, untilHours = hours, skipFaults, mostFaults = Infinity } = scenario
  const isFailed = isBad && untilHours >= 1 && mostFaults >= 60 && !skipFaults?.has(60)
  const counts = { served: 1000, outOfMemory: 2 }
  const outcome = {
    seed,
    events: 10,
    virtualMs: 7_200_000,
    counts,
    faultsInjected: isFailed ? 60 - (skipFaults?.size ?? 0) : 0,
    traceHash: `${seed}`,
  }
  const violation = {
    check: 'slots (invariant 1)',
    message: 'two rows of m1#0 on n3',
    event: 9,
    atMs: 3_600_000,
    lastLines: [],
  }
  return {
    outcome: isFailed ? { ...outcome, violation } : outcome,
    lines: lines > 0 ? ['01:00:00.000 fault #60 drain: n3 is drained'] : [],
    cpuMs: 100,
    memoryBytes: 1,
  }
}

function historyIn(text: string): string {
  return /history +([0-9a-f]{16})/.exec(text)?.[1] ?? 'no history'
}

function widest(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length))
}
