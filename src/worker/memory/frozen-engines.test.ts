import { expect, onTestFinished, test } from 'vitest'
import { replicaPath } from '../../api/data-port.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { serve } from '../../../test/support/http/http.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { aStart, aWorker } from '../../../test/support/worker/worker-scene.ts'
import { dataPortHandler } from '../data-port/handler.ts'
import { watchFrozenEngines, type WatchedReplica } from './frozen-engines.ts'

const SECOND = 1000

/** One replica with a request under way, whose engine has stopped in every sense. */
function aWatch() {
  const clock = new VirtualClock(1_000_000)
  const abandoned: string[] = []
  const replica: WatchedReplica & { state: string; inFlight: number; isAnswering: boolean | undefined } = {
    state: 'ready',
    inFlight: 1,
    pid: 7,
    isAnswering: false,
    answers: async () => replica.isAnswering,
    abandon: async (why: string) => void abandoned.push(why),
  }
  const scene = { clock, replica, abandoned, work: 100 as number | undefined }
  const workOf = async () => (scene.work === undefined ? undefined : new Map([[7, scene.work]]))
  const watch = watchFrozenEngines({ replicas: () => [replica], workOf, clock, log: silentLogger })
  onTestFinished(() => watch.dispose())
  return scene
}

test('an engine that does nothing and does not answer while somebody waits is given up', async () => {
  const { clock, abandoned } = aWatch()
  await clock.advance(8 * SECOND)
  expect(abandoned).toEqual([])
  await clock.advance(2 * SECOND)
  expect(abandoned).toEqual([expect.stringContaining('stands still')])
})

test('one that works is busy, however long it does not answer', async () => {
  const scene = aWatch()
  for (let i = 0; i < 100; i += 1) {
    scene.work! += 1
    await scene.clock.advance(3 * SECOND)
  }
  expect(scene.abandoned).toEqual([])
})

test.each([
  ['that says it is well', (scene: ReturnType<typeof aWatch>) => void (scene.replica.isAnswering = true)],
  ['that cannot be asked', (scene: ReturnType<typeof aWatch>) => void (scene.replica.isAnswering = undefined)],
  ['for which nobody waits', (scene: ReturnType<typeof aWatch>) => void (scene.replica.inFlight = 0)],
  ['that is about to be stopped anyway', (scene: ReturnType<typeof aWatch>) => void (scene.replica.state = 'draining')],
  ['of which nothing is known', (scene: ReturnType<typeof aWatch>) => void (scene.work = undefined)],
])('one %s is left alone', async (_, change) => {
  const scene = aWatch()
  change(scene)
  await scene.clock.advance(600 * SECOND)
  expect(scene.abandoned).toEqual([])
})

test('one that was still for a moment starts from the beginning', async () => {
  const scene = aWatch()
  await scene.clock.advance(7 * SECOND)
  scene.work! += 1
  await scene.clock.advance(9 * SECOND)
  expect(scene.abandoned).toEqual([])
})

test('a replica that is abandoned has failed and says why, its engine is gone, stopped as it is, and its request ends', async () => {
  const worker = await aWorker()
  const spec = aStart({ engine: 'sim', options: { ttft_ms: 0, tokens_per_s: 20 } })
  worker.supervisor.start(spec)
  await until(() => worker.stateOf(spec.id) === 'ready')
  const url = await serve(dataPortHandler({ replicas: worker.supervisor, dataKey: () => 'key', checks: {} }))
  const running = await fetch(`${url}${replicaPath(spec.id, spec.generation)}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer key' },
    body: JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  const replica = worker.supervisor.find(spec.id)!
  expect(await replica.answers()).toBe(true)
  process.kill(replica.pid!, 'SIGSTOP')
  expect(await replica.answers()).toBe(false)
  await replica.abandon('It stands still.')
  expect([worker.stateOf(spec.id), worker.pids()]).toEqual(['failed', []])
  expect(replica.error).toContain('It stands still.')
  await expect(running.text()).rejects.toThrow('terminated')
  expect(replica.inFlight).toBe(0)
})
