import { describe, expect, test } from 'vitest'
import type { World } from '../src/core/types.ts'
import { EventQueue } from './event-queue.ts'
import { realParts, type Breakage, type Parts } from './parts.ts'
import { Random } from './random.ts'
import { runSeeds } from './run-seeds.ts'
import { simulate } from './simulate.ts'
import { Store } from './store.ts'

const small = { nodes: 6, models: 4, minutes: 10 }

describe('one seed has one history', () => {
  test('the same seed gives the same trace, another seed another', () => {
    const hash = (seed: number): string => simulate({ seed, ...small }).traceHash
    expect(hash(1)).toBe(hash(1))
    expect(hash(1)).not.toBe(hash(2))
  })

  test('the same command line gives the same bytes', () => {
    const args = ['--seed', '3', '--runs', '2', '--minutes', '5']
    expect(runSeeds(args)).toEqual(runSeeds(args))
  })

  test('events run in order of time, and those of one time in the order they were asked for', () => {
    const queue = new EventQueue()
    const random = new Random(1)
    const ran: [number, number][] = []
    for (let i = 0; i < 500; i += 1) queue.after(random.between(0, 50), () => ran.push([queue.nowMs, i]))
    while (queue.runNext(queue.nowMs + 100)) {}
    expect(ran).toHaveLength(500)
    expect(ran).toEqual(ran.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]))
  })
})

describe('the promises hold', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('with seed %i, and there was something to hold against', (seed) => {
    const { violation, lost, counts } = simulate({ seed, nodes: 10, models: 6, minutes: 30 })
    expect(violation).toBeUndefined()
    expect(lost).toBe(0)
    expect(counts.served).toBeGreaterThan(100)
    expect(counts.starts).toBeGreaterThan(10)
    expect(counts.waited).toBeGreaterThan(20)
  })

  test('also on one node and on very many slots asked for', () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      expect(simulate({ seed, nodes: 1, models: 8, minutes: 10 }).violation).toBeUndefined()
    }
  })
})

describe('the checks can fail', () => {
  const broken = (...names: Breakage[]): Parts => ({ ...realParts, broken: new Set(names) })
  const withManySlots = (world: World): World => ({
    ...world,
    nodes: world.nodes.map((node) => ({ ...node, maxReplicasPerModel: 9 })),
  })
  const withMuchMemory = (world: World): World => ({
    ...world,
    nodes: world.nodes.map((node) => ({
      ...node,
      vramBudget: null,
      devices: node.devices.map((device) => ({ ...device, totalVram: 1e15, availableVram: null })),
    })),
  })
  const greedy: Parts['reconcile'] = (world, policy) => realParts.reconcile(withManySlots(world), policy)
  const boundless: Parts['reconcile'] = (world, policy) => realParts.reconcile(withMuchMemory(world), policy)
  const withoutMinima = (world: World): World => ({
    ...world,
    rules: world.rules.map((rule) => ({ ...rule, minReplicas: 0 })),
  })
  const careless: Parts['reconcile'] = (world, policy) => realParts.reconcile(withoutMinima(world), policy)
  const withoutSpread = (world: World): World => ({
    ...world,
    rules: world.rules.map((rule) => (rule.spreadAll ? { ...rule, spreadAll: false, minReplicas: 1 } : rule)),
  })
  const countsOnly: Parts['reconcile'] = (world, policy) => realParts.reconcile(withoutSpread(world), policy)
  const neverStop: Parts['reconcile'] = (world, policy) => {
    const plan = realParts.reconcile(world, policy)
    return { ...plan, steps: plan.steps.filter((step) => step.kind !== 'stop' || step.replica.state === 'failed') }
  }
  const asRevised = ({ replicas, models }: World): Partial<World> => ({
    replicas: replicas.map((one) => ({
      ...one,
      revision: models.find(({ name }) => name === one.modelName)?.revision ?? one.revision,
    })),
  })
  const routingTo = (change: (world: World) => Partial<World>): Parts => ({
    ...realParts,
    newFeed() {
      const feed = realParts.newFeed()
      return {
        update: (world, keys) => feed.update({ ...world, ...change(world) } as never, keys),
        snapshot: () => feed.snapshot(0),
      }
    },
  })

  test.each<[string, string, Parts]>([
    ['slots', 'a planner that ignores slots', { ...realParts, reconcile: greedy }],
    ['slots', 'the same when nobody checks the plan', { ...realParts, reconcile: greedy, checkPlan: () => [] }],
    ['slots', 'keys are not in order', broken('keys are not in order')],
    [
      'routes',
      'a table with draining nodes',
      routingTo(({ nodes }) => ({ nodes: nodes.map((node) => ({ ...node, desired: 'active' as const })) })),
    ],
    [
      'routes',
      'a table with replicas that are not ready',
      routingTo(({ replicas }) => ({ replicas: replicas.map((one) => ({ ...one, state: 'ready' as const })) })),
    ],
    [
      'routes',
      'a table that does not look at labels',
      routingTo(({ rules }) => ({ rules: rules.map((rule) => ({ ...rule, nodeSelector: {} })) })),
    ],
    ['routes', 'a table with old revisions, which nobody stops', { ...routingTo(asRevised), reconcile: neverStop }],
    ['processes', 'stop does nothing', broken('stop does nothing')],
    ['processes', 'exits go unnoticed', broken('exits go unnoticed')],
    [
      'processes',
      'strays are left alone',
      { ...realParts, judgeHeartbeat: (...args) => ({ ...realParts.judgeHeartbeat(...args), strays: [] }) },
    ],
    ['blame', 'restarts count anew', broken('restarts count anew')],
    ['slots', 'restarts forget', broken('restarts forget')],
    ['in-flight', 'refusals stay in flight', broken('refusals stay in flight')],
    ['requests', 'a death ends the request', broken('a death ends the request')],
    ['epochs', 'writes are not fenced', broken('writes are not fenced')],
    ['epochs', 'epochs do not grow', broken('epochs do not grow')],
    ['blame', 'deaf leaders judge', broken('deaf leaders judge')],
    ['claims', 'a planner that ignores memory', { ...realParts, reconcile: boundless, checkPlan: () => [] }],
    ['claims', 'claims are not written', broken('claims are not written')],
    ['one load', 'loads are not seen', { ...broken('loads are not seen'), checkPlan: () => [] }],
    ['eviction', 'all are idle', { ...broken('all are idle'), checkPlan: () => [] }],
    ['eviction', 'a planner without minima', { ...realParts, reconcile: careless, checkPlan: () => [] }],
    ['convergence', 'one on any node for one on each', { ...realParts, reconcile: countsOnly }],
    ['thrash', 'all are old', broken('all are old')],
    ['waiting', 'demands are not written', broken('demands are not written')],
    [
      'waiting',
      'a control that says nothing',
      {
        ...broken('demands are not written'),
        loadStatusOf: (...args) => ({ ...realParts.loadStatusOf(...args), loading: null, reason: null }),
      },
    ],
    ['convergence', 'a planner that never stops anything', { ...realParts, reconcile: neverStop }],
    [
      'convergence',
      'a planner that gives no reasons',
      { ...realParts, reconcile: (world, policy) => ({ ...realParts.reconcile(world, policy), unmet: [] }) },
    ],
  ])('%s: %s', (check, _, parts) => {
    expect(isFound(check, parts)).toBe(true)
  })

  /** Some mistakes break several promises, and which one shows first depends on the seed. */
  function isFound(check: string, parts: Parts): boolean {
    for (let seed = 1; seed <= 30; seed += 1) {
      const { violation } = simulate({ seed, ...small, parts })
      if (violation?.check.startsWith(`${check} `)) return true
    }
    return false
  }
})

test('a failed row that outlives a boot of its node can still be stopped', () => {
  const isGone = (names: Breakage[]): boolean => {
    const store = new Store(new EventQueue(), new Set(names))
    const slot = {
      nodeId: 'n1',
      modelName: 'm',
      replicaIndex: 0,
      generation: 1,
      revision: 'v1',
      failures: 0,
      claim: null,
    }
    store.reserveReplica(slot)
    const row = () => store.replicas.get('r1')!
    store.moveReplica(row(), { to: 'installing', knownFromSeq: 300 })
    store.moveReplica(row(), { to: 'failed' })
    store.deleteReplicasOfOldBoot('n1')
    store.moveReplica(row(), { to: 'stopping' })
    return realParts.judgeHeartbeat([row()], { seq: 1, replicas: [] }).gone.length === 1
  }
  expect(isGone([])).toBe(true)
  expect(isGone(['failed rows keep the old number'])).toBe(false)
})

test('rules are kept when nodes stay drained', () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    expect(simulate({ seed, ...small, leaveDrained: true }).violation).toBeUndefined()
  }
})

describe('the command', () => {
  test('sums up in 80 columns', () => {
    const { stdout, stderr, exitCode } = runSeeds(['--runs', '2', '--minutes', '2'])
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
    expect(stdout).toMatch(/^Flotilla simulator: seeds 1 to 2, 10 nodes, 6 models,\n/)
    expect(stdout).toMatch(/\n {2}[\d,]+ broken off, 0 lost\. .*\n.*\n\nAll checks held\.\n$/)
    expect(widest(stdout)).toBeLessThanOrEqual(80)
  })

  test('a violation names the check, the event, what led to it and how to repeat it', () => {
    const { stdout, exitCode } = runSeeds(['--break', 'stop does nothing', '--minutes', '10'])
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/\nVIOLATED: processes \(invariant 4\)\n {2}a process of r\d+ .* no row wants/)
    expect(stdout).toMatch(/\nSeed \d+, event \d+\. The last that happened:\n(?: {2}\d\d:\d\d\.\d{3} .*\n){20}/)
    const [, again] = /Repeat it with:\n {2}npm run sim -- (.*)\n$/.exec(stdout)!
    expect(again).toMatch(/^--seed \d+ --runs 1 --minutes 10 --break 'stop does nothing'$/)
    expect(widest(stdout)).toBeLessThanOrEqual(80)
  })

  test.each([
    [['--sed', '1'], 'npm run sim: there is no option --sed. See npm run sim -- --help.'],
    [['7'], 'npm run sim: unexpected "7". See npm run sim -- --help.'],
    [['--nodes', '0'], 'npm run sim: --nodes takes a whole number from 1 to 200. See npm run sim -- --help.'],
    [['--seed'], 'npm run sim: --seed takes a whole number from 0 to 2147483647. See npm run sim -- --help.'],
    [['--break', 'all'], 'npm run sim: --break takes one of the names that --help lists. See npm run sim -- --help.'],
  ])('%j is told in one line', (args, line) => {
    expect(runSeeds(args)).toEqual({ stdout: '', stderr: `${line}\n`, exitCode: 2 })
  })

  test('help fits 80 columns', () => {
    const { stdout, exitCode } = runSeeds(['--help'])
    expect(exitCode).toBe(0)
    expect(widest(stdout)).toBeLessThanOrEqual(80)
  })

  function widest(text: string): number {
    return Math.max(...text.split('\n').map((line) => line.length))
  }
})
