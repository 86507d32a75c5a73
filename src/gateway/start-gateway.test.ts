import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type {
  GatewayTrafficMessage,
  RouteMessage,
  RoutingDeltaMessage,
  RoutingSnapshotMessage,
} from '../api/bus/messages.ts'
import type { Bus } from '../bus/bus.ts'
import { systemClock } from '../platform/run/clock.ts'
import type { ExchangeHandler } from '../http/exchange.ts'
import { prometheusText } from '../platform/metrics/exposition.ts'
import { KeptCluster } from '../platform/kept-cluster.ts'
import { silentLogger } from '../platform/run/log.ts'
import { serve } from '../../test/support/http/http.ts'
import { roleBuses } from '../../test/support/bus/role-buses.ts'
import { tempFolder } from '../../test/support/temp-folder.ts'
import { until } from '../../test/support/until.ts'
import { VirtualClock } from '../../test/support/virtual-clock.ts'
import { openSavedTable } from './table/saved-table.ts'
import { startGateway } from './start-gateway.ts'

function aRoute(i: number, address = 'a:1'): RouteMessage {
  const ids = { replica_id: `r${i}`, node_id: `n${i}`, node_name: `node${i}` }
  return { ...ids, generation: 1, model_name: 'm', address, data_key: 'key', available_vram: null }
}

const m = { name: 'm', engine: 'sim', created_at: 1, route_policy: 'least_loaded', state: 'ready' } as const
const aTable = (version: number, replicas: number, feed = 'f'): RoutingSnapshotMessage => {
  const routes = Array.from({ length: replicas }, (_, i) => aRoute(i))
  return { feed, version, models: [m], routes, keys: [] }
}
const aDelta = (from: number, to: number, set: RouteMessage[] = [], feed = 'f'): RoutingDeltaMessage => {
  return { feed, from_version: from, version: to, set, removed: [], heard: [] }
}

/** The control plane at the other end of a bus that does what the test says. */
class FakeBus {
  table: RoutingSnapshotMessage | undefined
  connected = true
  asked = 0
  #onDelta: (delta: RoutingDeltaMessage) => void = () => {}
  #onReconnect: () => void = () => {}

  readonly bus = {
    publish() {},
    subscribe: (name: string, handler: never) => {
      if (name === 'routingDelta') this.#onDelta = handler
    },
    request: async (name: string) => {
      if (name === 'routingSnapshot') this.asked += 1
      if (!this.table) throw new Error('nobody answers')
      return this.table
    },
    respond() {},
    onReconnect: (callback: () => void) => void (this.#onReconnect = callback),
    isConnected: () => this.connected,
    isRefused: () => false,
    dispose: async () => {},
  } as unknown as Bus

  tell(delta: RoutingDeltaMessage): void {
    this.#onDelta(delta)
  }

  comeBack(): void {
    this.connected = true
    this.#onReconnect()
  }
}

function aGateway(control = new FakeBus(), file = join(tempFolder(), 'table.json'), cluster = new KeptCluster()) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1))
  const savedTable = openSavedTable(file, clock, silentLogger)
  const options = { bus: control.bus, clock, log: silentLogger, gatewayId: 'g', exposeNode: false, savedTable, cluster }
  const gateway = startGateway(options)
  onTestFinished(() => gateway.dispose())
  return { control, clock, gateway, file, replicas: () => gateway.readyReplicas('m') }
}

describe('the routing table', () => {
  test('comes as a snapshot and is kept up to date by deltas, without asking again', async () => {
    const { control, clock, gateway, replicas } = aGateway()
    expect(gateway.problem()).toBe('no routing table yet')
    control.table = aTable(1, 1)
    await clock.advance(0)
    expect([replicas(), gateway.problem()]).toEqual([1, undefined])
    control.tell(aDelta(1, 2, [aRoute(7)]))
    expect(replicas()).toBe(2)
    for (let i = 0; i < 20; i += 1) {
      control.tell(aDelta(2, 2))
      await clock.advance(3000)
    }
    expect([control.asked, gateway.note()]).toEqual([1, undefined])
  })

  test.each([
    ['a delta was missed', aDelta(5, 6)],
    ['another leader speaks', aDelta(2, 3, [], 'another')],
  ])('is asked for again when %s', async (_, delta) => {
    const { control, clock, replicas } = aGateway()
    control.table = aTable(1, 1)
    await clock.advance(0)
    control.table = aTable(6, 4, delta.feed)
    control.tell(delta)
    expect(replicas()).toBe(1)
    await clock.advance(0)
    expect([replicas(), control.asked]).toEqual([4, 2])
  })

  test('is asked for again after the bus was away', async () => {
    const { control, clock, replicas } = aGateway()
    control.table = aTable(1, 1)
    await clock.advance(0)
    control.connected = false
    control.table = aTable(2, 3)
    await clock.advance(10_000)
    expect(replicas()).toBe(1)
    control.comeBack()
    await clock.advance(0)
    expect(replicas()).toBe(3)
  })

  test('that is old is served from and told, and asked for until it is there', async () => {
    const { control, clock, gateway, replicas } = aGateway()
    control.table = aTable(1, 1)
    await clock.advance(0)
    control.table = undefined
    await clock.advance(60_000)
    expect([replicas(), gateway.problem()]).toEqual([1, undefined])
    expect(gateway.note()).toBe('nothing heard from control for 60 s; serving from the last table')
    expect(prometheusText(gateway.metrics)).toContain('\nflotilla_routing_table_stale 1\n')
    expect(prometheusText(gateway.metrics)).toContain('\nflotilla_routing_table_age_seconds 60\n')
    control.table = aTable(9, 2)
    await clock.advance(1000)
    expect([replicas(), gateway.note()]).toEqual([2, undefined])
    expect(prometheusText(gateway.metrics)).toContain('\nflotilla_routing_table_stale 0\n')
    expect(prometheusText(gateway.metrics)).toContain('\nflotilla_ready_replicas{model="m"} 2\n')
  })
})

describe('the saved table', () => {
  async function aSavedOne() {
    const { control, clock, gateway, file } = aGateway()
    control.table = aTable(4, 2)
    await clock.advance(0)
    await gateway.dispose()
    return file
  }

  test('serves when control does not answer within 2 s, until it does', async () => {
    const { control, clock, gateway, replicas } = aGateway(new FakeBus(), await aSavedOne())
    await clock.advance(1990)
    expect(gateway.problem()).toBe('no routing table yet')
    await clock.advance(10)
    expect([replicas(), gateway.problem()]).toEqual([2, undefined])
    expect(gateway.note()).toContain('serving from the table saved at 2026-01-01T00:00:00.000Z')
    control.table = aTable(1, 5, 'a new leader')
    await clock.advance(1000)
    expect([replicas(), gateway.note()]).toEqual([5, undefined])
  })

  test('is not looked at when control answers', async () => {
    const control = new FakeBus()
    control.table = aTable(1, 1)
    const { clock, gateway, replicas } = aGateway(control, await aSavedOne())
    await clock.advance(5000)
    expect([replicas(), gateway.note()]).toEqual([1, undefined])
  })

  test('is good enough for deltas of the same leader to build on', async () => {
    const { control, clock, gateway, replicas } = aGateway(new FakeBus(), await aSavedOne())
    await clock.advance(2000)
    control.tell(aDelta(4, 5, [aRoute(9)]))
    expect([replicas(), gateway.note()]).toEqual([3, undefined])
  })

  test('changes with the table', async () => {
    const { control, clock, gateway, file } = aGateway()
    control.table = aTable(1, 1)
    await clock.advance(0)
    control.tell(aDelta(1, 2, [aRoute(7)]))
    await gateway.dispose()
    expect(openSavedTable(file, clock, silentLogger).load()?.table).toMatchObject({ version: 2, routes: [{}, {}] })
  })
})

describe('two gateways on one bus', () => {
  const REPLICAS = 4
  /** The id of requests that are answered at once. */
  const LOOK = 'look'

  async function twoGateways() {
    const join = await roleBuses(['a', 'b'])

    /** Requests that wait in the replicas, by replica. */
    const held: (() => void)[][] = Array.from({ length: REPLICAS }, () => [])
    const routes = await Promise.all(
      held.map(async (waiting, i) => {
        const url = await serve(async (request, response) => {
          request.resume()
          if (request.method === 'POST' && request.headers['x-request-id'] !== LOOK) {
            await new Promise<void>((resolve) => waiting.push(resolve))
          }
          response.end('{}')
        })
        return aRoute(i, new URL(url).host)
      }),
    )
    const control = await join('control')
    control.respond('routingSnapshot', async () => ({ feed: 'f', version: 1, parts: 1, models: [m], routes, keys: [] }))

    const startOne = async (name: string) => {
      const bus = await join(name)
      const gateway = startGateway({ bus, clock: systemClock, log: silentLogger, gatewayId: name, exposeNode: false })
      onTestFinished(() => gateway.dispose())
      const caller = { keyId: null, models: null }
      const handler: ExchangeHandler = (request, response) => gateway.handler(request, response, caller)
      const url = await serve(handler, { wire: { prefix: '/v1/', handler } })
      const ask = async (headers: Record<string, string> = {}): Promise<number> => {
        const response = await fetch(`${url}/v1/completions`, { method: 'POST', body: '{"model":"m"}', headers })
        await response.arrayBuffer()
        return response.status
      }
      /** How many requests of the other it knows of, by its own account of a request. */
      const knows = async (): Promise<number> => {
        await ask({ 'x-request-id': LOOK })
        const { decision } = await control.request('why', { request_id: LOOK }, { timeoutMs: 5000 })
        return decision.candidates.reduce((sum, candidate) => sum + candidate.in_flight_elsewhere, 0)
      }
      await until(() => gateway.readyReplicas('m') === REPLICAS)
      return { bus, ask, knows }
    }
    const counts = (): number[] => held.map((waiting) => waiting.length)
    const total = (): number => counts().reduce((sum, count) => sum + count, 0)
    const release = (): void => {
      for (const waiting of held) for (const resolve of waiting.splice(0)) resolve()
    }
    return { a: await startOne('a'), b: await startOne('b'), control, counts, total, release }
  }

  test('spread 16 requests at once over 4 replicas', async () => {
    const { a, b, counts, total, release } = await twoGateways()
    const answers = Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? a : b).ask())
    await until(() => total() === 16)
    // Four each when they know nothing or everything of each other; what is out of date may cost each of them one or two.
    for (const count of counts()) expect(Math.abs(count - 4), String(counts())).toBeLessThanOrEqual(2)
    release()
    expect(new Set(await Promise.all(answers))).toEqual(new Set([200]))
  })

  test('tell control what they have served', async () => {
    const { a, control, total, release } = await twoGateways()
    const reports: GatewayTrafficMessage[] = []
    control.subscribe('gatewayTraffic', (report) => void reports.push(report))
    const answer = a.ask()
    await until(() => total() === 1)
    release()
    expect(await answer).toBe(200)
    await until(() => reports.length >= 2)
    const { models, replicas, gateway } = reports[0]!
    expect([models['m']!.requests, models['m']!.errors, Object.values(replicas)]).toEqual([1, 0, [1]])
    expect(models['m']!.first_byte_ms).toBeLessThanOrEqual(models['m']!.duration_ms)
    expect(gateway).toMatch(/^a\//)
    expect(reports[1]).toEqual({ ...reports[0], seq: 2 })
  })

  test('one fills what the other has left idle', async () => {
    const { a, b, counts, total, release } = await twoGateways()
    const answers = [a.ask(), a.ask()]
    await until(() => total() === 2)
    await until(async () => (await b.knows()) === 2)
    answers.push(b.ask(), b.ask())
    await until(() => total() === 4)
    expect(counts()).toEqual([1, 1, 1, 1])
    release()
    await Promise.all(answers)
    await until(async () => (await b.knows()) === 0)
  })

  test('one that falls silent counts no more', async () => {
    const { a, b, total, release } = await twoGateways()
    const answer = a.ask()
    await until(() => total() === 1)
    await until(async () => (await b.knows()) === 1)
    await a.bus.dispose()
    await until(async () => (await b.knows()) === 0)
    // It goes on by itself.
    release()
    expect(await answer).toBe(200)
  })
})

describe('a table of another cluster', () => {
  const theirs = { cluster_id: 'theirs' }
  const ours = { cluster_id: 'ours' }

  test('is not taken, whether it comes as a delta or is asked for; the table there is stays, and it is told', async () => {
    const { control, clock, gateway, replicas } = aGateway()
    control.table = { ...aTable(1, 2), ...ours }
    await clock.advance(0)
    const empty = { ...aTable(0, 0, 'empty'), models: [], ...theirs }
    control.table = empty
    control.tell({ ...aDelta(0, 1, [], 'empty'), models: [], ...theirs })
    await clock.advance(60_000)
    control.tell({ ...aDelta(1, 1, [], 'empty'), ...theirs })
    expect([replicas(), gateway.problem()]).toEqual([2, undefined])
    expect(gateway.note()).toMatch(/of another cluster \(theirs\).*this cluster \(ours\)/)
    control.table = { ...aTable(3, 3), ...ours }
    await clock.advance(70_000)
    expect([replicas(), gateway.note()]).toEqual([3, undefined])
  })

  test('is not served from a file either', async () => {
    const first = aGateway()
    first.control.table = { ...aTable(1, 2), ...ours }
    await first.clock.advance(5000)
    await first.gateway.dispose()
    const cluster = new KeptCluster()
    cluster.learn('theirs')
    const moved = aGateway(new FakeBus(), first.file, cluster)
    await moved.clock.advance(5000)
    expect(moved.gateway.problem()).toBe('no routing table yet')
    const again = aGateway(new FakeBus(), first.file)
    await again.clock.advance(5000)
    expect(again.replicas()).toBe(2)
    again.control.tell({ ...aDelta(0, 1, [], 'empty'), models: [], ...theirs })
    expect(again.replicas()).toBe(2)
  })

  test('is what one of the release before cannot be told from: it is taken', async () => {
    const { control, clock, replicas } = aGateway()
    control.table = { ...aTable(1, 2), ...ours }
    await clock.advance(0)
    control.tell(aDelta(1, 2, [aRoute(7)]))
    expect(replicas()).toBe(3)
  })
})
