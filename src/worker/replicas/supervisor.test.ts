import { createServer } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { StopTarget } from '../../api/bus/messages.ts'
import { replicaPath } from '../../api/data-port.ts'
import { serve } from '../../../test/support/http/http.ts'
import { until } from '../../../test/support/until.ts'
import { aStart, aWorker, type WorkerScene } from '../../../test/support/worker/worker-scene.ts'
import { dataPortHandler } from '../data-port/handler.ts'

const LATE = Number.MAX_SAFE_INTEGER
const stop = (worker: WorkerScene, target: StopTarget, { force = false, waitMs = 20_000 } = {}) =>
  worker.supervisor.stop({ target, force, wait_ms: waitMs })
const chat = (model: string) => ({
  method: 'POST',
  headers: { authorization: 'Bearer key' },
  body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
})

async function started(worker: WorkerScene, ...specs: ReturnType<typeof aStart>[]): Promise<void> {
  for (const spec of specs) worker.supervisor.start(spec)
  await until(() => specs.every(({ id }) => worker.stateOf(id) === 'ready'))
}

describe('two replicas of one model', () => {
  test('are two processes, two ports and two logs; stopping one leaves the other and its requests alone', async () => {
    const worker = await aWorker()
    const specs = [0, 1].map((index) =>
      aStart({ model_name: 'M', replica_index: index, engine: 'sim', options: { ttft_ms: 0, tokens_per_s: 100 } }),
    )
    await started(worker, ...specs)
    const [zero, one] = specs.map(({ id }) => worker.supervisor.find(id)!)
    expect(zero!.port).not.toBe(one!.port)
    const url = await serve(dataPortHandler({ replicas: worker.supervisor, dataKey: () => 'key', checks: {} }))
    const running = await fetch(
      `${url}${replicaPath(zero!.spec.id, zero!.spec.generation)}/v1/chat/completions`,
      chat('M'),
    )
    expect(zero!.inFlight).toBe(1)

    const { replicas } = await stop(worker, { what: 'key', key: 'M#1', not_after: LATE })
    expect(replicas).toMatchObject([{ key: 'M#1', gone: true }])
    expect(worker.states()).toEqual({ 'M#0': 'ready' })
    expect((await running.text()).trimEnd().endsWith('[DONE]')).toBe(true)
    expect((await stop(worker, { what: 'key', key: 'M#7', not_after: LATE })).replicas).toEqual([])
    expect(worker.states()).toEqual({ 'M#0': 'ready' })
  })

  test('a bare model stops both, and nothing else', async () => {
    const worker = await aWorker()
    const specs = [
      aStart({ model_name: 'M' }),
      aStart({ model_name: 'M', replica_index: 1 }),
      aStart({ model_name: 'N' }),
    ]
    await started(worker, ...specs)
    expect(worker.pids()).toHaveLength(3)
    const { replicas } = await stop(worker, { what: 'model', model_name: 'M', not_after: LATE })
    expect(replicas.map(({ key, gone }) => [key, gone])).toEqual([
      ['M#0', true],
      ['M#1', true],
    ])
    expect(worker.states()).toEqual({ 'N#0': 'ready' })
    expect(worker.pids()).toHaveLength(1)
  })

  test('names with odd characters work everywhere', async () => {
    const worker = await aWorker()
    const odd = ['a#b', 'org/name', '100 %', 'ünï#1', '../../etc']
    await started(worker, ...odd.map((name) => aStart({ model_name: name })))
    for (const name of odd) {
      const { replicas } = await stop(worker, { what: 'key', key: `${name}#0`, not_after: LATE })
      expect(replicas).toMatchObject([{ key: `${name}#0`, gone: true }])
    }
    expect(worker.pids()).toEqual([])
  })
})

describe('commands', () => {
  test('are idempotent by id and fenced by generation, also after the replica is gone', async () => {
    const worker = await aWorker()
    const old = aStart()
    const spec = aStart()
    await started(worker, spec)
    worker.supervisor.start(spec)
    expect(worker.supervisor.report()).toHaveLength(1)
    expect(() => worker.supervisor.start(old)).toThrow(expect.objectContaining({ code: 'conflict' }))
    const { id, generation } = spec
    expect((await stop(worker, { what: 'replica', id, generation: generation - 1 })).replicas).toEqual([])
    expect((await stop(worker, { what: 'all', not_after: generation - 1 })).replicas).toEqual([])
    expect(worker.stateOf(id)).toBe('ready')
    await stop(worker, { what: 'replica', id, generation })
    expect(() => worker.supervisor.start(spec)).toThrow(expect.objectContaining({ code: 'conflict' }))
    expect(worker.pids()).toEqual([])
  })

  test('a newer generation of a key takes the place of the older one, whose process is gone first', async () => {
    const worker = await aWorker()
    const first = aStart({ engine: 'stubborn' })
    await started(worker, first)
    const [pid] = worker.pids()
    const second = aStart()
    await started(worker, second)
    expect(worker.stateOf(first.id)).toBe('gone')
    expect(worker.pids()).not.toContain(pid)
  })

  test('a start may be stopped at any moment', async () => {
    const worker = await aWorker()
    for (let i = 0; i < 20; i += 1) {
      const spec = aStart({ replica_index: i })
      worker.supervisor.start(spec)
      if (i % 2 === 1) await new Promise((resolve) => setImmediate(resolve))
      await stop(worker, { what: 'replica', id: spec.id, generation: spec.generation })
    }
    expect(worker.supervisor.report()).toEqual([])
    expect(worker.pids()).toEqual([])
  })

  test('a node that is stopping starts nothing, as if it had not heard', async () => {
    const worker = await aWorker()
    await worker.supervisor.stopAll()
    expect(() => worker.supervisor.start(aStart())).toThrow(expect.objectContaining({ code: 'unavailable' }))
  })

  test('an engine that the node does not have is refused', async () => {
    const worker = await aWorker()
    expect(() => worker.supervisor.start(aStart({ engine: 'warp' }))).toThrow('This node has no engine "warp"')
  })

  test('all replicas of an engine are stopped, and named', async () => {
    const worker = await aWorker()
    await started(
      worker,
      aStart({ model_name: 'a' }),
      aStart({ model_name: 'b' }),
      aStart({ model_name: 'c', engine: 'stubborn' }),
    )
    expect(await worker.supervisor.stopEngine('light')).toEqual({ stopped: ['a#0', 'b#0'], survivors: [] })
    expect(worker.states()).toEqual({ 'c#0': 'ready' })
  })
})

describe('a start that goes wrong', () => {
  test('an engine that dies is failed at once, with exit code and last lines, and its port is free again', async () => {
    const worker = await aWorker()
    const spec = aStart({ engine: 'sim', options: { nonsense: 1 } })
    worker.supervisor.start(spec)
    await until(() => worker.stateOf(spec.id) === 'failed')
    const [report] = worker.supervisor.report()
    expect(report!.error).toMatch(/^The engine exited with code 2\. Its last lines:\n.*nonsense/)
    expect(report!.exit).toMatchObject({ code: 2, signal: null, last_lines: [expect.stringContaining('nonsense')] })
    expect(worker.supervisor.find(spec.id)!.port).toBeUndefined()
    await stop(worker, { what: 'replica', id: spec.id, generation: spec.generation })
    expect(worker.supervisor.report()).toEqual([])
  })

  test('an engine that is killed says by what', async () => {
    const worker = await aWorker()
    const spec = aStart()
    await started(worker, spec)
    process.kill(worker.pids()[0]!, 'SIGKILL')
    await until(() => worker.stateOf(spec.id) === 'failed')
    expect(worker.supervisor.report()[0]).toMatchObject({
      error: expect.stringContaining('killed by SIGKILL, and not by Flotilla'),
      exit: { code: null, signal: 'SIGKILL', last_lines: ['up'] },
    })
  })

  test('one that shows no progress for too long is ended, and says why', async () => {
    const worker = await aWorker()
    const spec = aStart({ engine: 'never' })
    worker.supervisor.start(spec)
    await until(() => worker.stateOf(spec.id) === 'failed')
    expect(worker.supervisor.report()[0]!.error).toBe(
      'The engine did not become ready: no sign of progress for 0.5 s. Its last lines:\nI am trying',
    )
    await until(() => worker.pids().length === 0)
  })

  test('one that listens for other machines, too, is not let through', async () => {
    const worker = await aWorker()
    const spec = aStart({ engine: 'open' })
    worker.supervisor.start(spec)
    await until(() => worker.stateOf(spec.id) === 'failed')
    expect(worker.supervisor.report()[0]!.error).toContain('Make it listen on 127.0.0.1')
    await until(() => worker.pids().length === 0)
  })

  test('a program that is missing is named', async () => {
    const worker = await aWorker()
    const spec = aStart({ engine: 'absent' })
    worker.supervisor.start(spec)
    await until(() => worker.stateOf(spec.id) === 'failed')
    expect(worker.supervisor.report()[0]!.error).toContain('no-such-program')
    expect(worker.engines.report().find(({ name }) => name === 'absent')).toMatchObject({
      state: 'missing',
      reason: expect.stringContaining('no-such-program'),
    })
  })

  test("another program's answer on the port is not taken for the engine's", async () => {
    const other = createServer((_request, response) => response.end())
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as { port: number }
    const profiles = `
name: elsewhere
command: [sh, -c, 'exec sleep 3']
options: none
model: none
ready: { port: true }
ready_within_s: 0.5`
    const worker = await aWorker({ profiles, enginePorts: { from: port, to: port } })
    const spec = aStart({ engine: 'elsewhere' })
    worker.supervisor.start(spec)
    await until(() => worker.stateOf(spec.id) === 'failed')
    expect(worker.supervisor.report()[0]!.error).toContain(`No free engine port in ${port}-${port}`)
  })
})

describe('draining', () => {
  test('running requests finish, new ones are refused, and the state says so', async () => {
    const worker = await aWorker()
    const spec = aStart({ engine: 'sim', options: { ttft_ms: 0, tokens_per_s: 100 } })
    await started(worker, spec)
    const url = await serve(dataPortHandler({ replicas: worker.supervisor, dataKey: () => 'key', checks: {} }))
    const ask = () => fetch(`${url}${replicaPath(spec.id, spec.generation)}/v1/chat/completions`, chat('m'))
    const running = await ask()
    const stopping = stop(worker, { what: 'replica', id: spec.id, generation: spec.generation })
    await until(() => worker.stateOf(spec.id) === 'draining')
    expect((await ask()).status).toBe(503)
    expect(await running.text()).toContain('[DONE]')
    expect((await stopping).replicas).toMatchObject([{ gone: true }])
  })

  test('by force it waits for nobody', async () => {
    const worker = await aWorker({ drainMs: 600_000 })
    const spec = aStart({ engine: 'sim', options: { ttft_ms: 0, tokens_per_s: 1 } })
    await started(worker, spec)
    const url = await serve(dataPortHandler({ replicas: worker.supervisor, dataKey: () => 'key', checks: {} }))
    const running = await fetch(`${url}${replicaPath(spec.id, spec.generation)}/v1/chat/completions`, chat('m'))
    const target = { what: 'replica', id: spec.id, generation: spec.generation } as const
    expect((await stop(worker, target, { waitMs: 0 })).replicas).toMatchObject([{ gone: false }])
    expect((await stop(worker, target, { force: true })).replicas).toMatchObject([{ gone: true }])
    await expect(running.text()).rejects.toThrow('terminated')
  })

  test('an engine that ignores SIGTERM is killed', async () => {
    const worker = await aWorker()
    const spec = aStart({ engine: 'stubborn' })
    await started(worker, spec)
    expect((await stop(worker, { what: 'all', not_after: LATE })).replicas).toMatchObject([{ gone: true }])
    expect(worker.pids()).toEqual([])
  })
})
