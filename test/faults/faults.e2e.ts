import { afterAll, beforeAll, expect, test } from 'vitest'
import { Stage } from './harness/stage.ts'
import type { Fault } from './fault.ts'
import { allFaults } from './kinds/all.ts'
import { runFaults } from './run-faults.ts'

/**
 * The short form: one cluster, and several faults at once that hit different parts of it. `npm run faults` has each of
 * them alone, and all of them. Whatever may fail may only fail on what was struck; times are not looked at here.
 */
const stage = new Stage(false)
beforeAll(() => stage.ready().then(() => {}))
afterAll(() => stage.dispose())

test.each([
  {
    title: 'a leader that wakes up as that of yesterday, an engine that stands still, a gateway that dies, a deaf node',
    names: ['freeze the leader', 'freeze an engine', 'kill -9 a gateway', 'cut a worker | NATS'],
    holdMs: 14_000,
  },
  {
    title: 'neither store nor bus, a full disk, a wrong clock, a worker that dies and one that a gateway cannot reach',
    names: [
      'PostgreSQL and NATS are away',
      'the disk of a worker is full',
      'clock of a worker -1 h',
      'kill -9 a worker, engines live on',
      'cut a gateway | a worker',
    ],
    holdMs: 6000,
  },
  {
    title: 'a leader without its store, a node that nobody reaches, a gateway that stands still',
    names: ['cut the leader | PostgreSQL', 'cut a worker | everybody', 'freeze a gateway'],
    holdMs: 7000,
  },
  {
    title: 'the leader dies, and a worker with its engines, and an engine elsewhere',
    names: ['kill -9 the leader', 'kill -9 a worker and its engines', 'kill -9 an engine'],
    holdMs: 2000,
  },
  {
    title: 'everything is restarted in turn',
    names: ['restart all frontends', 'restart all gateways', 'restart all workers, engines kept'],
    holdMs: 0,
  },
])('$title', { timeout: 240_000 }, async ({ names, holdMs }) => {
  const { cluster, load } = await stage.ready()
  const faults = names.map((name): Fault => ({ ...named(name), holdMs }))
  const outcomes = await runFaults(faults, cluster, load, { looksForLeaks: holdMs === 0 })
  expect(outcomes[0]!.problems).toEqual([])
  expect(outcomes[0]!.requests).toBeGreaterThan(10)
})

function named(name: string): Fault {
  const fault = allFaults.find((one) => one.name === name)
  if (!fault) throw new Error(`There is no fault "${name}".`)
  return fault
}
