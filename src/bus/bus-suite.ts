import { describe, expect, onTestFinished, test } from 'vitest'
import { permissionsFor, type BusRole } from '../api/bus/subjects.ts'
import { AppError } from '../platform/errors.ts'
import { silentLogger } from '../platform/run/log.ts'
import { aHeartbeat } from '../../test/support/builders.ts'
import { aDecision } from '../../test/support/gateway/decision.ts'
import { until } from '../../test/support/until.ts'
import type { BrokerUser } from './broker/broker.ts'
import { connectBus, NobodyListensError, type Bus } from './bus.ts'
import { newSeed, publicKeyOf } from './nkey.ts'

export type StartBus = (
  users: BrokerUser[],
  port?: number,
) => Promise<{ url: string; port: number; stop: () => Promise<void> }>

const beat = aHeartbeat()
const aStart = { id: 'r', generation: 1, model_name: 'm', replica_index: 0, engine: 'sim', source: null, options: {} }
const second = { timeoutMs: 2000 }

/** The clients that the suite connects; a node's name is its id. */
const CLIENTS = ['control', 'gateway', 'node1', 'node2']

/** A bus with those clients, and the rights that each has in production. */
export interface BusScene {
  join: (client: string) => Promise<Bus>
  /** The server is away; the returned function brings it back. */
  goAway: () => Promise<() => Promise<void>>
}

export function roleOf(client: string): BusRole {
  return client.startsWith('node') ? 'node' : (client as BusRole)
}

export function onServer(startServer: StartBus): () => Promise<BusScene> {
  return async () => {
    const seeds = new Map(CLIENTS.map((client) => [client, newSeed()]))
    const users = [...seeds].map(([client, seed]) => ({
      publicKey: publicKeyOf(seed),
      permissions: permissionsFor(roleOf(client), client),
    }))
    const server = await startServer(users)
    onTestFinished(() => server.stop())
    return {
      async join(client) {
        const address = { url: server.url, seed: seeds.get(client) }
        const bus = await connectBus({ address, role: roleOf(client), clientId: client, log: silentLogger })
        onTestFinished(() => bus.dispose())
        return bus
      },
      async goAway() {
        await server.stop()
        return async () => {
          const again = await startServer(users, server.port)
          onTestFinished(() => again.stop())
        }
      },
    }
  }
}

/** The bus as the roles use it. */
export function describeBus(name: string, open: () => Promise<BusScene>): void {
  describe(`the bus on ${name}`, () => {
    test('an event reaches its listeners, with the node it came from', async () => {
      const { join } = await open()
      const [control, node] = [await join('control'), await join('node1')]
      const heard: [number, string][] = []
      control.subscribe('heartbeat', ({ seq }, nodeId) => void heard.push([seq, nodeId]))
      await until(() => {
        node.publish('heartbeat', beat, 'node1')
        return heard.length > 0
      })
      expect(heard[0]).toEqual([1, 'node1'])
    })

    test('a request is answered, and an error comes back with its code', async () => {
      const { join } = await open()
      const [control, node] = [await join('control'), await join('node1')]
      node.respond('replicaStart', async () => ({ known_from_seq: 4 }), 'node1')
      node.respond('replicaStop', () => Promise.reject(new AppError('conflict', 'too late')), 'node1')
      await until(() =>
        control.request('replicaStart', aStart, { nodeId: 'node1', ...second }).then(
          () => true,
          () => false,
        ),
      )
      expect(await control.request('replicaStart', aStart, { nodeId: 'node1', ...second })).toEqual({
        known_from_seq: 4,
      })
      const target = { what: 'replica', id: 'r', generation: 1 } as const
      const command = { target, force: false, wait_ms: 0 }
      const stop = control.request('replicaStop', command, { nodeId: 'node1', ...second })
      await expect(stop).rejects.toMatchObject({ code: 'conflict', message: 'too late' })
    })

    test('a request without a listener fails at once, as unavailable', async () => {
      const { join } = await open()
      const control = await join('control')
      const request = control.request('replicaStart', aStart, { nodeId: 'node1', timeoutMs: 60_000 })
      await expect(request).rejects.toBeInstanceOf(NobodyListensError)
      await expect(request).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('nothing is listening'),
      })
    })

    test('of several listeners the one that knows answers; when none does it is silence, not absence', async () => {
      const { join } = await open()
      const control = await join('control')
      const gateways = [await join('gateway'), await join('gateway'), await join('gateway')]
      const asked = [0, 0, 0]
      for (const [i, gateway] of gateways.entries()) {
        gateway.respond('why', async ({ request_id: id }) => {
          asked[i]! += 1
          return id === `of ${i}` ? { decision: aDecision({ request_id: id }) } : undefined
        })
      }
      await until(() =>
        control.request('why', { request_id: 'of 2' }, { timeoutMs: 200 }).then(
          () => asked.every((times) => times > 0),
          () => false,
        ),
      )
      for (const id of ['of 0', 'of 1', 'of 2']) {
        const { decision } = await control.request('why', { request_id: id }, second)
        expect(decision.request_id).toBe(id)
      }
      const unknown = control.request('why', { request_id: 'of 9' }, { timeoutMs: 100 })
      await expect(unknown).rejects.toMatchObject({ code: 'unavailable' })
      await expect(unknown).rejects.not.toBeInstanceOf(NobodyListensError)
    })

    test('a message that does not fit its schema is dropped, and a request told so', async () => {
      const { join } = await open()
      const [control, node] = [await join('control'), await join('node1')]
      const heard: number[] = []
      control.subscribe('heartbeat', ({ seq }) => void heard.push(seq))
      node.respond('replicaStart', async () => ({ known_from_seq: 4 }), 'node1')
      const broken = { ...aStart, generation: 'one' } as never
      await until(() =>
        control.request('replicaStart', aStart, { nodeId: 'node1', ...second }).then(
          () => true,
          () => false,
        ),
      )
      await expect(control.request('replicaStart', broken, { nodeId: 'node1', ...second })).rejects.toMatchObject({
        code: 'bad_request',
      })
      await until(() => {
        node.publish('heartbeat', { ...beat, seq: -1 }, 'node1')
        node.publish('heartbeat', { ...beat, seq: 7 }, 'node1')
        return heard.length > 0
      })
      expect(heard).not.toContain(-1)
    })

    test('a node can neither speak for another nor hear what is meant for another', async () => {
      const { join } = await open()
      const [control, node1, node2] = [await join('control'), await join('node1'), await join('node2')]
      const heard: string[] = []
      control.subscribe('heartbeat', (_, nodeId) => void heard.push(nodeId))
      let stolen = 0
      node2.respond('replicaStart', async () => ({ known_from_seq: (stolen += 1) }), 'node1')
      node1.respond('replicaStart', async () => ({ known_from_seq: 9 }), 'node1')
      await until(() => {
        node2.publish('heartbeat', beat, 'node1')
        node2.publish('heartbeat', beat, 'node2')
        return heard.length >= 3
      })
      expect(heard).not.toContain('node1')
      await until(() =>
        control.request('replicaStart', aStart, { nodeId: 'node1', ...second }).then(
          (r) => r.known_from_seq === 9,
          () => false,
        ),
      )
      expect(stolen).toBe(0)
    })

    test('after the server was away, subscriptions are back and told so', async () => {
      const { join, goAway } = await open()
      const [control, node] = [await join('control'), await join('node1')]
      let heard = 0
      let reconnects = 0
      control.subscribe('heartbeat', () => void (heard += 1))
      control.onReconnect(() => void (reconnects += 1))
      const comeBack = await goAway()
      await until(() => !control.isConnected() && !node.isConnected())
      await comeBack()
      await until(() => control.isConnected() && node.isConnected())
      await until(() => {
        node.publish('heartbeat', beat, 'node1')
        return heard > 0
      })
      expect(reconnects).toBe(1)
    })
  })
}
