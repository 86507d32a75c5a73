import { createServer } from 'node:net'
import { expect, onTestFinished, test, describe } from 'vitest'
import { REFUSAL_HEADER, replicaPath } from '../api/data-port.ts'
import type { ReplicaStartMessage } from '../api/bus/messages.ts'
import { systemClock } from '../platform/clock.ts'
import { silentLogger } from '../platform/log.ts'
import { serve } from '../testing/http.ts'
import { isAlive, until } from '../testing/until.ts'
import { dataPortHandler } from './data-port.ts'
import { commandFor, findEngine } from './engine-profiles.ts'
import { Ports } from './ports.ts'
import { Supervisor } from './supervisor.ts'

const fast = { ttft_ms: 0, tokens_per_s: 0 }

function aSupervisor(limits = { readyWithinMs: 20_000, drainMs: 20_000, killAfterMs: 5000 }) {
  let changes = 0
  const supervisor = new Supervisor({
    ports: new Ports({ from: 31_000, to: 31_999 }),
    clock: systemClock,
    log: silentLogger,
    limits,
    onChange: () => (changes += 1),
  })
  onTestFinished(() => supervisor.stopAll())
  const stateOf = (id: string): string => supervisor.report().find((replica) => replica.id === id)?.state ?? 'gone'
  return { supervisor, stateOf, changes: () => changes }
}

function aStart(fields: Partial<ReplicaStartMessage> = {}): ReplicaStartMessage {
  return { id: 'a', generation: 1, model_name: 'm', replica_index: 0, engine: 'sim', options: fast, ...fields }
}

async function anEngine(fields: Partial<ReplicaStartMessage> = {}) {
  const worker = aSupervisor()
  worker.supervisor.start(aStart(fields))
  await until(() => worker.stateOf('a') === 'ready')
  const url = await serve(dataPortHandler(worker.supervisor, () => 'key'))
  const ask = (path: string, init: { method?: string; body?: string } = {}, key = 'key') =>
    fetch(`${url}${path}`, { ...init, headers: { authorization: `Bearer ${key}` } })
  return { ...worker, ask }
}

const chat = (stream: boolean) => ({
  method: 'POST',
  body: JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'Hello' }] }),
})

describe('a replica on a node', () => {
  test('starts a real process, becomes ready, and is gone with its process when stopped', async () => {
    const { supervisor, stateOf, changes } = aSupervisor()
    supervisor.start(aStart())
    expect(stateOf('a')).toBe('loading')
    await until(() => stateOf('a') === 'ready')
    const { port } = supervisor.find('a')!
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200)
    expect(supervisor.stop({ id: 'a', generation: 1 })).toBe('stopping')
    await until(() => stateOf('a') === 'gone')
    await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow('fetch failed')
    expect(changes()).toBeGreaterThanOrEqual(4)
  })

  test('commands are idempotent by id and fenced by generation', async () => {
    const { supervisor, stateOf } = aSupervisor()
    supervisor.start(aStart({ generation: 5 }))
    supervisor.start(aStart({ generation: 5 }))
    expect(supervisor.report()).toHaveLength(1)
    expect(() => supervisor.start(aStart({ id: 'late', generation: 4 }))).toThrow('newer')
    expect(supervisor.stop({ id: 'a', generation: 4 })).toBe('unknown')
    expect(supervisor.stop({ id: 'other', generation: 5 })).toBe('unknown')
    await until(() => stateOf('a') === 'ready')
  })

  test('a newer generation of the same key takes the place of the older one', async () => {
    const { supervisor, stateOf } = aSupervisor()
    supervisor.start(aStart())
    await until(() => stateOf('a') === 'ready')
    supervisor.start(aStart({ id: 'b', generation: 2 }))
    await until(() => stateOf('b') === 'ready')
    expect(stateOf('a')).toBe('gone')
  })

  test('stopping one replica leaves its sibling alone', async () => {
    const { supervisor, stateOf } = aSupervisor()
    supervisor.start(aStart())
    supervisor.start(aStart({ id: 'b', replica_index: 1 }))
    await until(() => stateOf('a') === 'ready' && stateOf('b') === 'ready')
    supervisor.stop({ id: 'b', generation: 1 })
    await until(() => stateOf('b') === 'gone')
    expect(stateOf('a')).toBe('ready')
  })

  test('a replica may be stopped while it is still starting', async () => {
    const { supervisor, stateOf } = aSupervisor()
    supervisor.start(aStart({ options: { ...fast, load_ms: 600_000 } }))
    supervisor.stop({ id: 'a', generation: 1 })
    await until(() => stateOf('a') === 'gone')
    expect(supervisor.report()).toEqual([])
  })

  test('an engine that dies is failed, with exit code and last lines', async () => {
    const { supervisor, stateOf } = aSupervisor()
    supervisor.start(aStart({ options: { nonsense: 1 } }))
    await until(() => stateOf('a') === 'failed')
    expect(supervisor.report()[0]?.error).toMatch(/^The engine exited with code 2\. Its last lines:\n.*nonsense/)
  })

  test('an engine that never becomes ready is failed and ended', async () => {
    const { supervisor, stateOf } = aSupervisor({ readyWithinMs: 300, drainMs: 0, killAfterMs: 5000 })
    supervisor.start(aStart({ options: { load_ms: 600_000 } }))
    await until(() => stateOf('a') === 'failed')
    expect(supervisor.report()[0]?.error).toBe('The engine did not become ready within 0 s.')
  })

  test('a node that is stopping starts nothing, as if it had not heard', async () => {
    const { supervisor } = aSupervisor()
    await supervisor.stopAll()
    expect(() => supervisor.start(aStart())).toThrow(expect.objectContaining({ code: 'unavailable' }))
  })

  test('an unknown engine is refused with what there is', () => {
    const { supervisor } = aSupervisor()
    expect(() => supervisor.start(aStart({ engine: 'warp' }))).toThrow('This node has no engine "warp". It has: sim.')
  })
})

describe('the data port', () => {
  test('forwards to the named replica, streamed', async () => {
    const { ask } = await anEngine()
    const response = await ask(`${replicaPath('a', 1)}/v1/chat/completions`, chat(true))
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(await response.text()).toMatch(/^data: .*\n\ndata: \[DONE\]\n\n$/s)
  })

  test.each([
    ['a wrong key', replicaPath('a', 1), 'wrong', 401],
    ['another replica', replicaPath('b', 1), 'key', 404],
    ['another generation', replicaPath('a', 2), 'key', 404],
    ['no replica at all', '', 'key', 404],
  ])('refuses %s, and says that it was not the engine', async (_, path, key, status) => {
    const { ask } = await anEngine()
    const response = await ask(`${path}/v1/chat/completions`, chat(false), key)
    expect(response.status).toBe(status)
    expect(response.headers.has(REFUSAL_HEADER)).toBe(true)
  })

  test('the engine never sees the data key', async () => {
    const { ask } = await anEngine()
    const response = await ask(`${replicaPath('a', 1)}/v1/models`)
    expect(response.status).toBe(200)
    expect(await response.text()).not.toContain('Bearer')
  })

  test('tells who is on this machine how the worker is, without a key', async () => {
    const { supervisor } = aSupervisor()
    let problem: string | undefined = 'waiting for approval'
    const url = await serve(dataPortHandler(supervisor, () => undefined, { worker: () => problem }))
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const response = await fetch(`${url}/readyz`)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ checks: { worker: 'waiting for approval' } })
    problem = undefined
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
  })

  test('counts what runs, drains before stopping, and takes nothing new meanwhile', async () => {
    const { ask, supervisor, stateOf } = await anEngine({ options: { ttft_ms: 0, tokens_per_s: 40 } })
    const running = await ask(`${replicaPath('a', 1)}/v1/chat/completions`, chat(true))
    expect(supervisor.report()[0]?.in_flight).toBe(1)
    supervisor.stop({ id: 'a', generation: 1 })
    const refused = await ask(`${replicaPath('a', 1)}/v1/chat/completions`, chat(true))
    expect(refused.status).toBe(503)
    expect(stateOf('a')).toBe('stopping')
    expect(await running.text()).toContain('[DONE]')
    await until(() => stateOf('a') === 'gone')
  })
})

describe('ports', () => {
  test('are given to one replica at a time, and not while another program has them', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(32_001, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const ports = new Ports({ from: 32_000, to: 32_002 }, () => 0)
    expect([await ports.take(), await ports.take()]).toEqual([32_000, 32_002])
    await expect(ports.take()).rejects.toThrow('No free engine port in 32000-32002 (2 of 3 in use by replicas')
    ports.release(32_000)
    expect(await ports.take()).toBe(32_000)
  })
})

test('a command line is filled in, and options become flags', () => {
  const command = commandFor(findEngine('sim')!, 'it#1', 20_001, { tokens_per_s: 5 })
  expect(command.slice(-5)).toEqual(['--port', '20001', '--model', 'it#1', '--tokens-per-s=5'])
})

test('an engine whose worker is killed with -9 ends by itself', async () => {
  const script = `
    import { Supervisor } from ${JSON.stringify(new URL('./supervisor.ts', import.meta.url).href)}
    import { Ports } from ${JSON.stringify(new URL('./ports.ts', import.meta.url).href)}
    import { systemClock } from ${JSON.stringify(new URL('../platform/clock.ts', import.meta.url).href)}
    const log = { info: (fields) => fields.pid && process.stdout.write(String(fields.pid)), debug() {}, warn() {} }
    const limits = { readyWithinMs: 20_000, drainMs: 0, killAfterMs: 5000 }
    const supervisor = new Supervisor({ ports: new Ports({ from: 33_000, to: 33_099 }), clock: systemClock, log, limits, onChange() {} })
    supervisor.start(${JSON.stringify(aStart())})`
  const { spawn } = await import('node:child_process')
  const worker = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const pid = await new Promise<number>((resolve) =>
    worker.stdout.once('data', (text: Buffer) => resolve(Number(text))),
  )
  expect(isAlive(pid)).toBe(true)
  worker.kill('SIGKILL')
  await until(() => !isAlive(pid))
})
