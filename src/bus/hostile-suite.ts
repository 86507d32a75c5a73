import type { NatsConnection } from '@nats-io/transport-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  inboxPrefix,
  permissionsFor,
  subjectOf,
  subjects,
  type BusRole,
  type RequestName,
  type SubjectName,
} from '../api/bus/subjects.ts'
import type { Logger } from '../platform/run/log.ts'
import { silentLogger } from '../platform/run/log.ts'
import { aHeartbeat } from '../../test/support/builders.ts'
import { until } from '../../test/support/until.ts'
import { VirtualClock } from '../../test/support/virtual-clock.ts'
import { connectBus, type Bus } from './bus.ts'
import type { StartBus } from './bus-suite.ts'
import { connectNats } from './connect.ts'
import { newSeed, publicKeyOf } from './nkey.ts'

const names = Object.keys(subjects) as SubjectName[]
const requests = names.filter((name): name is RequestName => subjects[name].kind === 'request')
const aStart = { id: 'r', generation: 1, model_name: 'm', replica_index: 0, engine: 'sim', source: null, options: {} }
const part = { feed: 'f', version: 1, parts: 1, models: [], routes: [], keys: [] }
const second = { timeoutMs: 5000 }
const MIB = 2 ** 20

/** What a client with valid credentials can do to the others of a bus. */
export function describeHostile(name: string, startServer: StartBus): void {
  describe(`a hostile client on ${name}`, () => {
    async function aBus() {
      const clients = ['control', 'gateway', 'node1', 'node2']
      const seeds = new Map(clients.map((client) => [client, newSeed()]))
      const roleOf = (client: string): BusRole => (client.startsWith('node') ? 'node' : (client as BusRole))
      const users = [...seeds].map(([client, seed]) => {
        return { publicKey: publicKeyOf(seed), permissions: permissionsFor(roleOf(client), client) }
      })
      const server = await startServer(users)
      onTestFinished(() => server.stop())
      const { lines, log } = keptLog()
      const join = async (client: string): Promise<Bus> => {
        const address = { url: server.url, seed: seeds.get(client) }
        const bus = await connectBus({ address, role: roleOf(client), clientId: client, log })
        onTestFinished(() => bus.dispose())
        return bus
      }
      /** The same client, saying what it likes. */
      const bare = async (client: string): Promise<NatsConnection> => {
        const address = { url: server.url, seed: seeds.get(client) }
        const connection = await connectNats(address, roleOf(client), client)
        onTestFinished(() => connection.close())
        return connection
      }
      return { join, bare, lines }
    }

    /** Control answers the gateway; both have been heard to. */
    async function aCluster() {
      const bus = await aBus()
      const [control, gateway] = [await bus.join('control'), await bus.join('gateway')]
      const heard: string[] = []
      control.subscribe('heartbeat', (_, nodeId) => void heard.push(nodeId))
      control.respond('routingSnapshot', async () => part)
      const answers = (): Promise<boolean> =>
        gateway.request('routingSnapshot', { part: 0 }, second).then(
          () => true,
          () => false,
        )
      await until(answers)
      return { ...bus, control, gateway, heard, answers }
    }

    test('that sends a mebibyte of junk with a reply to every subject stops no one from hearing the others', async () => {
      const { join, bare, control, gateway, heard, answers } = await aCluster()
      const node2 = await join('node2')
      for (const one of requests) {
        const isNodes = subjectOf(one) !== subjectOf(one, 'node1')
        const listener = (subjects[one].from as readonly BusRole[]).includes('gateway')
          ? control
          : isNodes
            ? node2
            : gateway
        if (one !== 'routingSnapshot')
          listener.respond(one, () => Promise.reject(new Error('not asked')), isNodes ? 'node2' : undefined)
      }
      const junk = [Buffer.alloc(MIB - 8, '{"a":'), Buffer.from(`[${'{},'.repeat(100_000)}{}]`), Buffer.from('null')]
      for (const client of ['control', 'gateway', 'node1']) {
        const connection = await bare(client)
        const own = `${inboxPrefix(client.startsWith('node') ? 'node' : (client as BusRole), client)}.mine`
        for (const bytes of junk) {
          for (const one of names)
            connection.publish(subjectOf(one, client === 'node1' ? 'node1' : 'node2'), bytes, { reply: own })
        }
        await connection.flush()
      }
      expect(await answers()).toBe(true)
      await until(() => {
        node2.publish('heartbeat', aHeartbeat(), 'node2')
        return heard.includes('node2')
      })
      await expect(control.request('replicaStart', aStart, { nodeId: 'node2', ...second })).rejects.toMatchObject({
        code: 'internal',
      })
    })

    test('is told in a few words what is wrong with its request', async () => {
      const { bare } = await aCluster()
      const gateway = await bare('gateway')
      const odd = JSON.stringify({
        model_name: 'm'.repeat(900_000),
        wanted_ms: Array.from({ length: 10_000 }, () => ({})),
      })
      const msg = await gateway.request(subjectOf('routingSnapshot'), odd, { timeout: 5000 })
      expect(msg.data.length).toBeLessThan(1000)
      expect(msg.json()).toMatchObject({ ok: false, error: { code: 'bad_request' } })
    })

    test('gets no answer to what is no request', async () => {
      const { bare, control, gateway, answers } = await aCluster()
      const woken: unknown[] = []
      control.subscribe('wake', () => void woken.push(1))
      gateway.subscribe('routingDelta', () => {})
      const [node, rogue] = [await bare('node1'), await bare('gateway')]
      const answered: string[] = []
      const inbox = `${inboxPrefix('node', 'node1')}.mine`
      node.subscribe(inbox, { callback: (_, msg) => void answered.push(msg.string()) })
      for (const reply of [inbox, subjectOf('wake'), subjectOf('heartbeat', 'node2')]) {
        node.publish(subjectOf('heartbeat', 'node1'), '{"bad":1}', { reply })
        node.publish(subjectOf('heartbeat', 'node1'), JSON.stringify(aHeartbeat()), { reply })
        rogue.publish(subjectOf('gatewayLoad'), '{"bad":1}', { reply })
        rogue.publish(subjectOf('routingSnapshot'), '{"part":0}', { reply })
        rogue.publish(subjectOf('routingSnapshot'), '{"bad":1}', { reply })
      }
      await Promise.all([node.flush(), rogue.flush()])
      expect(await answers()).toBe(true)
      await node.flush()
      expect({ answered, woken }).toEqual({ answered: [], woken: [] })
    })

    test('sees nothing of the tokens of answers that it could tell others from', async () => {
      const { bare, control } = await aCluster()
      const node = await bare('node1')
      const seen: string[] = []
      node.subscribe(subjectOf('replicaStart', 'node1'), {
        callback(_, msg) {
          seen.push(msg.reply!)
          msg.respond('{"ok":true,"value":{"known_from_seq":1}}')
        },
      })
      await node.flush()
      for (let i = 0; i < 3; i += 1) await control.request('replicaStart', aStart, { nodeId: 'node1', ...second })
      for (const reply of seen) expect(reply).toMatch(/^_INBOX\.control\.control\.[\w-]{22}\.[\w-]{22}$/)
      expect(new Set(seen.map((reply) => reply.split('.').at(-1))).size).toBe(3)
    })

    test('that floods is dropped, counted in a line, and delays no other', async () => {
      const { join, bare, heard, lines } = await aCluster()
      const [node1, node2] = [await bare('node1'), await join('node2')]
      const good = JSON.stringify(aHeartbeat())
      const large = Buffer.alloc(600 * 1024, ' ')
      for (let i = 0; i < 3000; i += 1) node1.publish(subjectOf('heartbeat', 'node1'), i % 3 === 0 ? good : '{"bad":1}')
      for (let i = 0; i < 5; i += 1) node1.publish(subjectOf('heartbeat', 'node1'), large)
      await node1.flush()
      await until(() => {
        node2.publish('heartbeat', aHeartbeat(), 'node2')
        return heard.includes('node2')
      })
      expect(heard.filter((one) => one === 'node1').length).toBeLessThan(300)
      const about = lines.filter((line) => line.includes('nodes.node1.heartbeat'))
      expect(about.length).toBeGreaterThan(0)
      expect(about.length).toBeLessThanOrEqual(2)
      expect(about.join('').length).toBeLessThan(2000)
    })
  })

  describe(`what is too large, or fails, on ${name}`, () => {
    async function aPair() {
      const seeds = { control: newSeed(), gateway: newSeed() }
      const users = (['control', 'gateway'] as const).map((role) => {
        return { publicKey: publicKeyOf(seeds[role]), permissions: permissionsFor(role, role) }
      })
      const server = await startServer(users)
      onTestFinished(() => server.stop())
      const { lines, log } = keptLog()
      const join = async (role: 'control' | 'gateway'): Promise<Bus> => {
        const bus = await connectBus({ address: { url: server.url, seed: seeds[role] }, role, clientId: role, log })
        onTestFinished(() => bus.dispose())
        return bus
      }
      return { control: await join('control'), gateway: await join('gateway'), lines }
    }

    test('an answer that no message can hold is an error that says so', async () => {
      const { control, gateway } = await aPair()
      const model = { name: 'm', engine: 'sim', created_at: 1, route_policy: 'least_loaded', state: 'ready' } as const
      const models = Array.from({ length: 20_000 }, () => model)
      control.respond('routingSnapshot', async ({ part: at }) => (at === 1 ? { ...part, models } : part))
      await until(() => gateway.request('routingSnapshot', { part: 0 }, second).then(Boolean, () => false))
      await expect(gateway.request('routingSnapshot', { part: 1 }, second)).rejects.toMatchObject({ code: 'too_large' })
      expect(await gateway.request('routingSnapshot', { part: 0 }, second)).toEqual(part)
    })

    test('a request that no message can hold fails at its sender; an event is dropped and told', async () => {
      const { control, gateway, lines } = await aPair()
      const request = gateway.request('modelWanted', { model_name: 'm'.repeat(MIB), wanted_ms: 1 }, second)
      await expect(request).rejects.toMatchObject({ code: 'too_large' })
      const seqs: number[] = []
      control.subscribe('gatewayLoad', ({ seq }) => void seqs.push(seq))
      gateway.publish('gatewayLoad', { gateway: 'm'.repeat(MIB), seq: 1, counts: {} })
      await until(() => {
        gateway.publish('gatewayLoad', { gateway: 'g', seq: 2, counts: {} })
        return seqs.includes(2)
      })
      expect(lines.filter((line) => line.includes('could not send a message'))).toHaveLength(1)
    })

    test('a server that no longer lets us in is told of once, then once a minute', async () => {
      const seed = newSeed()
      const users = [{ publicKey: publicKeyOf(seed), permissions: permissionsFor('control', 'c') }]
      const server = await startServer(users)
      onTestFinished(() => server.stop())
      const { lines, log } = keptLog()
      const clock = new VirtualClock()
      const bus = await connectBus({ address: { url: server.url, seed }, role: 'control', clientId: 'c', log, clock })
      onTestFinished(() => bus.dispose())
      await server.stop()
      const other = await startServer([{ ...users[0]!, publicKey: publicKeyOf(newSeed()) }], server.port)
      onTestFinished(() => other.stop())
      const told = (): number => lines.filter((line) => line.includes('Authorization Violation')).length
      await until(() => bus.isRefused())
      expect(told()).toBe(1)
      await clock.advance(60_000)
      await until(() => told() === 2)
    })

    test('a handler that throws stops no other message', async () => {
      const { control, gateway } = await aPair()
      let seen = 0
      control.subscribe('gatewayLoad', () => {
        seen += 1
        throw new Error('a mistake of ours')
      })
      control.respond('modelWanted', () => {
        throw new Error('at once, not later')
      })
      control.respond('routingSnapshot', async () => part)
      await until(() => {
        gateway.publish('gatewayLoad', { gateway: 'g', seq: 1, counts: {} })
        return seen > 1
      })
      const wanted = gateway.request('modelWanted', { model_name: 'm', wanted_ms: 1 }, second)
      await expect(wanted).rejects.toMatchObject({ code: 'internal' })
      expect(await gateway.request('routingSnapshot', { part: 0 }, second)).toEqual(part)
    })
  })
}

/** Each line of the log as one text. */
function keptLog(): { lines: string[]; log: Logger } {
  const lines: string[] = []
  const keep = (...said: unknown[]): void => void lines.push(JSON.stringify(said))
  return {
    lines,
    log: { ...silentLogger, warn: keep, error: keep, info: () => {}, debug: () => {} },
  }
}
