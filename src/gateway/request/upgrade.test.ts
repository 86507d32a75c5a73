import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { RouteMessage } from '../../api/bus/messages.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { ClientTls } from '../../platform/tls/client-tls.ts'
import { instead } from '../../http/upstream/forward-headers.ts'
import { forwardUpgrade } from '../../http/upstream/upgrade-proxy.ts'
import { aDataPort } from '../../../test/support/worker/data-port.ts'
import { serve } from '../../../test/support/http/http.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { ScriptedControl } from '../../../test/support/control/scripted-control.ts'
import { until } from '../../../test/support/until.ts'
import { handshake, message, webSocketEngine } from '../../../test/support/http/web-socket-engine.ts'
import { ColdLoads } from '../cold/cold-loads.ts'
import { Liveness } from '../health/liveness.ts'
import { LiveTable } from '../table/routing-table.ts'
import { Silence } from '../health/stalled-requests.ts'
import { upgradeHandler, type UpgradeDeps } from './upgrade.ts'
import { WaitingRoom, type WaitingRoomLimits } from '../deliver/waiting-room.ts'

/** A gateway in front of data ports, each with an engine that speaks WebSocket or none. */
async function aGateway(
  options: {
    nodes?: ('up' | 'down')[]
    limits?: Partial<WaitingRoomLimits>
    allow?: UpgradeDeps['allow']
    /** Loads models that do not run; without it no request waits for that. */
    control?: ScriptedControl
  } = {},
) {
  const nodes = []
  const routes: RouteMessage[] = []
  for (const [i, state] of (options.nodes ?? ['up']).entries()) {
    const engine = await webSocketEngine()
    const node = await aDataPort(state === 'up' ? engine.port : 1)
    nodes.push({ ...node, engine })
    // All data ports of the tests know their replica as `r`; a route is known by its own id.
    const at = new URL(await proxyAs(`r${i}`, node.url)).host
    const ids = { replica_id: `r${i}`, node_id: `n${i}`, node_name: `node${i}`, generation: 7 }
    routes.push({ ...ids, model_name: 'm', address: at, data_key: 'right', available_vram: null })
  }
  const table = new LiveTable()
  const model = { engine: 'sim', created_at: 0, route_policy: 'least_loaded', state: 'ready' } as const
  const models = ['m', 'cold'].map((name) => ({ name, ...model }))
  table.replace({ feed: 'f', version: 1, models, routes, keys: [] })
  const waitingRoom = new WaitingRoom(systemClock, options.limits)
  const shared = { table, clock: systemClock, log: silentLogger }
  const probe = (): never => expect.unreachable()
  const liveness = new Liveness({ ...shared, probe, ttlMs: 0 })
  const silence = new Silence({ ...shared, askNode: probe })
  onTestFinished(() => silence.dispose())
  const allow = options.allow ?? (() => ({ keyId: null, models: null }))
  const { bus } = options.control ?? new ScriptedControl()
  const coldLoads = new ColdLoads({ ...shared, bus, waitMs: options.control ? 60_000 : 1, mostWaiting: 10 })
  onTestFinished(() => coldLoads.dispose())
  const onUpgrade = upgradeHandler({
    ...shared,
    liveness,
    silence,
    waitingRoom,
    coldLoads,
    allow,
    tls: new ClientTls(),
  })
  const url = await serve(() => {}, { onUpgrade })
  const inFlight = () => table.routesOf('m').map((route) => table.loadOf(route).here)
  const open = async (path = '/v1/realtime?model=m', headers: Record<string, string> = {}) => {
    const client = await rawClient(url)
    client.send(handshake(path, headers))
    return client
  }
  return { url, nodes, table, routes, inFlight, open, waitingRoom, coldLoads }
}

/** Names the replica in the path as the data port behind it knows it. */
function proxyAs(id: string, url: string): Promise<string> {
  return serve(() => {}, {
    onUpgrade: async (request, socket, head) => {
      const { hostname: host, port } = new URL(url)
      const path = request.url!.replace(`/replicas/${id}/`, '/replicas/r/')
      await forwardUpgrade(request, socket, head, { host, port: Number(port), path, headers: instead({}) })
    },
  })
}

describe('a WebSocket', () => {
  test('goes through gateway and worker to the engine and back, with a real client', async () => {
    const { url, nodes, inFlight } = await aGateway()
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/realtime?model=m`)
    onTestFinished(() => socket.close())
    await once(socket, 'open')
    socket.send('hello')
    const [said] = (await once(socket, 'message')) as [MessageEvent<string>]
    expect(said.data).toBe('hello')
    expect([inFlight(), nodes[0]!.replica.inFlight]).toEqual([[1], 1])
    const closed = once(socket, 'close')
    socket.close()
    await closed
    await until(() => inFlight()[0] === 0 && nodes[0]!.replica.inFlight === 0)
    expect(nodes[0]!.engine.sockets.size).toBe(0)
  })

  test('tells the engine no cookie and no key, and its client neither cookie nor CORS header of the engine', async () => {
    const { open, nodes } = await aGateway()
    const protocols = 'realtime, openai-insecure-api-key.secret, openai-beta.realtime-v1'
    const keys = { cookie: 'flotilla_session=secret', authorization: 'Bearer secret', 'x-api-key': 'secret' }
    const headers = { ...keys, origin: 'http://127.0.0.1', 'sec-websocket-protocol': protocols, 'openai-beta': 'b' }
    const client = await open('/v1/realtime?model=m', headers)
    const answer = await client.reads('\r\n\r\n')
    expect(answer).toMatch(/^X-Engine: yes\r$/m)
    expect(answer).not.toMatch(/^(set-cookie|access-control)/im)
    const [request] = nodes[0]!.engine.requests
    expect(request!.headers).toEqual({
      host: expect.stringContaining('127.0.0.1'),
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-protocol': 'realtime, openai-beta.realtime-v1',
      'openai-beta': 'b',
    })
  })

  test('counts, so the next one goes to the other replica; all is given back at the end', async () => {
    const { open, nodes, inFlight, waitingRoom } = await aGateway({ nodes: ['up', 'up'] })
    const clients = await Promise.all([1, 2, 3, 4].map(() => open()))
    for (const client of clients) await client.reads('101 Switching')
    expect(inFlight()).toEqual([2, 2])
    expect(nodes.map(({ replica }) => replica.inFlight)).toEqual([2, 2])
    for (const client of clients) client.socket.destroy()
    await until(() => inFlight().every((count) => count === 0))
    await until(() => nodes.every(({ replica }) => replica.inFlight === 0) && waitingRoom.running === 0)
  })

  test('goes to the next replica when the first refuses', async () => {
    const { open, inFlight } = await aGateway({ nodes: ['down', 'up', 'down'] })
    for (let i = 0; i < 3; i += 1) {
      const client = await open()
      client.send(message('hello'))
      expect(await client.reads('hello')).toMatch(/^HTTP\/1\.1 101 /)
      client.socket.destroy()
      await until(() => inFlight().every((count) => count === 0))
    }
  })

  test('ends for both when the engine ends', async () => {
    const { open, nodes, inFlight } = await aGateway()
    const client = await open()
    await client.reads('101')
    for (const socket of nodes[0]!.engine.sockets) socket.destroy()
    await client.closes()
    client.endSending()
    await until(() => inFlight()[0] === 0)
    expect(nodes[0]!.replica.ended).toBe(1)
  })
})

describe('refused on the connection', () => {
  test.each([
    ['without a model', '/v1/realtime', 400, '?model='],
    ['with an unknown model', '/v1/realtime?model=x', 404, 'There is no model'],
    ['with a model that does not run', '/v1/realtime?model=cold', 503, 'waits to be loaded'],
    ['at another place', '/api/events?model=m', 404, 'no WebSocket at /api/events'],
    ['on the way out of /v1/', '/v1/../admin?model=m', 400, '..'],
  ])('%s', async (_, path, status, text) => {
    const { open, inFlight } = await aGateway()
    const client = await open(path)
    const answer = await client.closes()
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer).toContain(text)
    expect(inFlight()).toEqual([0])
  })

  test('a client without permission', async () => {
    const { open } = await aGateway({
      allow: () => {
        throw new AppError('unauthorized', 'not you')
      },
    })
    const answer = await (await open()).closes()
    expect(answer).toMatch(/^HTTP\/1\.1 401 [\s\S]*www-authenticate: Bearer[\s\S]*not you/)
  })

  test('a key for other models only', async () => {
    const { open } = await aGateway({ allow: () => ({ keyId: 'k', models: ['other'] }) })
    expect(await (await open()).closes()).toMatch(/^HTTP\/1\.1 403 /)
  })

  test('when all replicas refuse: 503, and nothing is counted any more', async () => {
    const { open, inFlight } = await aGateway({ nodes: ['down', 'down'] })
    const answer = await (await open()).closes()
    expect(answer).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: 2/)
    expect(inFlight()).toEqual([0, 0])
  })

  test('when there are too many', async () => {
    const { open } = await aGateway({ limits: { runningPerModel: 1, waitingPerModel: 0 } })
    await (await open()).reads('101')
    expect(await (await open()).closes()).toMatch(/^HTTP\/1\.1 429 /)
  })
})

test('a client that goes away while it waits for its turn leaves the queue', async () => {
  const { open, waitingRoom } = await aGateway({ limits: { runningPerModel: 1 } })
  await (await open()).reads('101')
  const waiting = await open()
  await until(() => waitingRoom.countsOf('m').waiting === 1)
  waiting.socket.destroy()
  await until(() => waitingRoom.countsOf('m').waiting === 0)
  expect(waitingRoom.countsOf('m').running).toBe(1)
})

describe('for a model that does not run', () => {
  test('waits until it does', async () => {
    const control = new ScriptedControl()
    const { open, nodes, table, routes, coldLoads } = await aGateway({ control })
    nodes[0]!.replica.spec.model_name = 'cold'
    const client = await open('/v1/realtime?model=cold')
    await until(() => coldLoads.countOf('cold') === 1)
    expect(control.asked).toMatchObject([{ model_name: 'cold' }])
    const set = [{ ...routes[0]!, model_name: 'cold' }]
    table.apply({ feed: 'f', version: 2, from_version: 1, set, removed: [], heard: [] }, Date.now())
    client.send(message('hello'))
    expect(await client.reads('hello')).toMatch(/^HTTP\/1\.1 101 /)
    expect(coldLoads.countOf('cold')).toBe(0)
  })

  test('leaves when the client goes away', async () => {
    const { open, coldLoads } = await aGateway({ control: new ScriptedControl() })
    const client = await open('/v1/realtime?model=cold')
    await until(() => coldLoads.countOf('cold') === 1)
    client.socket.destroy()
    await until(() => coldLoads.countOf('cold') === 0)
    expect(client.text()).toBe('')
  })
})
