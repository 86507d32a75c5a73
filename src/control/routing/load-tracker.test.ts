import { expect, test } from 'vitest'
import { aReplica } from '../../../test/support/builders.ts'
import { LoadTracker } from './load-tracker.ts'

const two = [aReplica({ id: 'a' }), aReplica({ id: 'b', replicaIndex: 1 })]

/** One report and one sample each second. */
function run(tracker: LoadTracker, seconds: number, counts: Record<string, number>, from = 0, replicas = two): number {
  let busy = 0
  for (let second = from; second < from + seconds; second += 1) {
    tracker.hear({ gateway: 'g', seq: second + 1, counts }, second * 1000)
    busy = tracker.sample(replicas, second * 1000)[0]?.busy ?? 0
  }
  return busy
}

test('a model whose replicas are all in use is busy after a while, not at once', () => {
  expect(run(new LoadTracker(), 3, { a: 1, b: 2 })).toBeLessThan(0.5)
  expect(run(new LoadTracker(), 40, { a: 1, b: 2 })).toBeGreaterThan(0.95)
})

test('one that is half in use never is, and one that was is not any more after a while', () => {
  expect(run(new LoadTracker(), 60, { a: 5 })).toBeLessThan(0.6)
  const tracker = new LoadTracker()
  run(tracker, 40, { a: 1, b: 1 })
  expect(run(tracker, 40, {}, 40)).toBeLessThan(0.05)
})

test('what workers say counts as well; what a gateway said that fell silent does not', () => {
  const busy = two.map((replica) => ({ ...replica, inFlight: 1 }))
  expect(run(new LoadTracker(), 40, {}, 0, busy)).toBeGreaterThan(0.95)
  const tracker = new LoadTracker()
  tracker.hear({ gateway: 'g', seq: 1, counts: { a: 1 }, waiting: { m: 7 } }, 0)
  expect(tracker.sample(two, 1000)).toMatchObject([{ modelName: 'm', waiting: 7 }])
  expect(tracker.sample(two, 60_000)).toMatchObject([{ modelName: 'm', waiting: 0 }])
})

test('requests that wait are summed up over gateways, also for a model that nothing serves', () => {
  const tracker = new LoadTracker()
  tracker.hear({ gateway: 'g', seq: 1, counts: {}, waiting: { m: 2 } }, 0)
  tracker.hear({ gateway: 'h', seq: 1, counts: {}, waiting: { m: 3 } }, 0)
  expect(tracker.sample([], 0)).toEqual([{ modelName: 'm', busy: 0, waiting: 5 }])
})
