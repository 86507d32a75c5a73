import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { HeartbeatMessage } from '../api/bus/messages.ts'
import type { Registered } from '../api/admin/schemas.ts'
import { permissionsFor } from '../api/bus/subjects.ts'
import { startBroker } from '../bus/broker/broker.ts'
import { connectBus, type Bus } from '../bus/bus.ts'
import { newSeed, publicKeyOf } from '../bus/nkey.ts'
import { systemClock } from '../platform/run/clock.ts'
import { AppError } from '../platform/errors.ts'
import { sendJson } from '../http/server.ts'
import { silentLogger } from '../platform/run/log.ts'
import { aMachine } from '../../test/support/builders.ts'
import { serve } from '../../test/support/http/http.ts'
import { tempFolder } from '../../test/support/temp-folder.ts'
import { until } from '../../test/support/until.ts'
import { aStart, replicasOptions } from '../../test/support/worker/worker-scene.ts'
import { startWorker } from './start-worker.ts'

const GIB = 1024 ** 3
/** Long enough that a heartbeat within a test is none of the regular ones. */
const PERIOD_MS = 600_000

/** A real worker that has been approved, and control's end of its bus with every heartbeat that came. */
async function aNode(): Promise<{
  bus: Bus
  /** What frontends refuse it, by the end of the path. */
  refusals: Map<string, AppError>
  problem: () => string | undefined
  heartbeats: HeartbeatMessage[]
  last: () => HeartbeatMessage | undefined
}> {
  const [seed, controlSeed] = [newSeed(), newSeed()]
  const broker = await startBroker({
    host: '127.0.0.1',
    port: 0,
    users: [
      { publicKey: publicKeyOf(seed), permissions: permissionsFor('node', 'n1') },
      { publicKey: publicKeyOf(controlSeed), permissions: permissionsFor('control', 'c') },
    ],
  })
  onTestFinished(() => broker.dispose())
  const address = { url: broker.url, seed: controlSeed }
  const bus = await connectBus({ address, role: 'control', clientId: 'c', log: silentLogger })
  onTestFinished(() => bus.dispose())
  const heartbeats: HeartbeatMessage[] = []
  bus.subscribe('heartbeat', (heartbeat) => void heartbeats.push(heartbeat))
  const credentials = { bus_url: broker.url, bus_jwt: null, data_key: 'd', heartbeat_period_ms: PERIOD_MS }
  const answer: Registered = { node_id: 'n1', name: 'n', approved: true, credentials }
  const refusals = new Map<string, AppError>()
  const frontend = await serve((request, response) => {
    const error = refusals.get(request.url!.split('/').at(-1)!)
    if (error)
      return sendJson(response, error.status, { error: { code: error.code, message: error.message, ...error.details } })
    sendJson(response, 200, answer)
  })
  const folder = tempFolder()
  const worker = await startWorker(
    {
      frontendUrls: [frontend],
      joinToken: 'token',
      identity: { seed, publicKey: publicKeyOf(seed) },
      nodeName: 'n',
      nodeType: 'backend',
      labels: {},
      maxReplicasPerModel: 1,
      vramBudget: null,
      listen: { host: '127.0.0.1', port: 0 },
      advertise: undefined,
      healthListen: undefined,
      version: '0',
      replicas: replicasOptions(join(folder, 'n'), { enginePorts: { from: 32_000, to: 32_999 } }),
      measure: async () => aMachine(),
    },
    systemClock,
    silentLogger,
  )
  onTestFinished(() => worker.dispose())
  await worker.joined
  await until(() => heartbeats.length > 0)
  return { bus, refusals, problem: () => worker.problem(), heartbeats, last: () => heartbeats.at(-1) }
}

const to = { nodeId: 'n1', timeoutMs: 5000 }

test('without being asked, a worker tells what a ready replica holds, and what is free when it has gone', async () => {
  vi.stubEnv('FLOTILLA_FAKE_DEVICES', JSON.stringify([{ name: 'Pretended 24', total_vram: 24 * GIB }]))
  onTestFinished(() => void vi.unstubAllEnvs())
  const { bus, heartbeats, last } = await aNode()
  expect(last()!.engines.find(({ name }) => name === 'sim')).toMatchObject({
    memory: 'on_load',
    uses: { device: 'gpu', bytes_option: 'memory_bytes' },
  })
  const spec = aStart({ engine: 'sim', options: { memory_bytes: 10 * GIB }, devices: [0] })
  await bus.request('replicaStart', spec, to)
  await until(() => last()?.replicas[0]?.memory !== null && last()?.replicas[0]?.state === 'ready')
  const { replicas, devices, gpu_vendor: vendor } = last()!
  expect(replicas).toMatchObject([{ memory: { devices: [{ index: 0, bytes: 10 * GIB }] }, out_of_memory: false }])
  expect(replicas[0]!.memory!.ram).toBeGreaterThan(0)
  expect([vendor, devices]).toMatchObject(['nvidia', [{ name: 'Pretended 24', available_vram: 14 * GIB }]])
  // Whoever hears of what it holds hears at the same time that so much less is free.
  for (const { replicas, devices } of heartbeats.filter(({ replicas }) => replicas[0]?.memory)) {
    expect([replicas.length, devices[0]!.available_vram]).toEqual([1, 14 * GIB])
  }

  const tooBig = aStart({ model_name: 'big', engine: 'sim', options: { memory_bytes: 15 * GIB }, devices: [0] })
  await bus.request('replicaStart', tooBig, to)
  await until(() => last()!.replicas.some(({ id, state }) => id === tooBig.id && state === 'failed'))
  expect(last()!.replicas.find(({ id }) => id === tooBig.id)).toMatchObject({
    out_of_memory: true,
    error: expect.stringMatching(/^The engine ran out of memory: /),
  })

  const target = { what: 'replica', id: spec.id, generation: spec.generation } as const
  await bus.request('replicaStop', { target, force: true, wait_ms: 4000 }, to)
  await until(() => last()!.devices[0]!.available_vram === 24 * GIB)
  expect(last()!.replicas.map(({ id }) => id)).toEqual([tooBig.id])
})

test('the second of two processes with one key ends its engines, leaves the bus, and works again when it is taken in', async () => {
  const { bus, refusals, problem, last, heartbeats } = await aNode()
  const spec = aStart({ engine: 'sim', options: {} })
  await bus.request('replicaStart', spec, to)
  await until(() => last()!.replicas[0]?.state === 'ready')
  expect(new Set(heartbeats.map(({ run_id: run }) => run)).size).toBe(1)
  refusals.set('credentials', new AppError('conflict', 'Register again.', { details: { run: 'other' } }))
  refusals.set('register', new AppError('conflict', 'It is connected from 10.0.0.1:9.', { details: { run: 'second' } }))
  bus.publish('nodeUnknown', {}, 'n1')
  await until(() => problem() === 'It is connected from 10.0.0.1:9.')
  await expect(bus.request('replicaStart', aStart({ model_name: 'other', engine: 'sim' }), to)).rejects.toMatchObject({
    code: 'unavailable',
  })
  heartbeats.length = 0
  refusals.clear()
  await until(() => heartbeats.length > 0 && last()!.replicas.length === 0)
  const again = aStart({ engine: 'sim', options: {} })
  await bus.request('replicaStart', again, to)
  await until(() => last()!.replicas[0]?.state === 'ready')
  expect(problem()).toBeUndefined()
})
