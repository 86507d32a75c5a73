import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { replicaPath } from '../../api/data-port.ts'
import { newSeed } from '../../bus/nkey.ts'
import { clusterCa, issuePair } from '../../control/joining/cluster-ca.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { ClientTls } from '../../platform/tls/client-tls.ts'
import { gatewayHeaders, TestReplica } from '../../../test/support/worker/data-port.ts'
import { serve } from '../../../test/support/http/http.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { ScriptedControl } from '../../../test/support/control/scripted-control.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { handshake, webSocketEngine } from '../../../test/support/http/web-socket-engine.ts'
import { dataPortHandler, dataPortUpgrades } from '../../worker/data-port/handler.ts'
import { DataTls } from '../../worker/data-port/data-tls.ts'
import { ColdLoads } from '../cold/cold-loads.ts'
import { Liveness } from '../health/liveness.ts'
import { LiveTable } from '../table/routing-table.ts'
import { Silence } from '../health/stalled-requests.ts'
import { upgradeHandler } from './upgrade.ts'
import { WaitingRoom } from '../deliver/waiting-room.ts'

const ca = clusterCa('flc_secret')

/** An encrypted data port with an engine behind it that speaks WebSocket. */
async function aDataPort() {
  const engine = await webSocketEngine()
  const replica = new TestReplica(engine.port)
  const port = {
    replicas: { find: (id: string) => (id === 'r' ? replica : undefined) },
    dataKey: () => 'right',
    checks: {},
  }
  const data = new DataTls(newSeed(), 'on', join(tempFolder(), 'data.ca'))
  data.use(ca.certificate)
  const tls = { upgrade: () => data.upgrade, mayBePlain: () => false }
  const url = await serve(dataPortHandler(port), { tls, onUpgrade: dataPortUpgrades(port) })
  return { engine, replica, address: new URL(url).host, fingerprint: data.fingerprint }
}

/** A gateway that knows the node by this certificate, and shows one of this cluster. */
async function aGateway(address: string, fingerprint: string, secret = 'flc_secret'): Promise<string> {
  const table = new LiveTable()
  const model = { name: 'm', engine: 'sim', created_at: 0, route_policy: 'least_loaded', state: 'ready' } as const
  const ids = { replica_id: 'r', node_id: 'n', node_name: 'node', generation: 7, model_name: 'm' }
  const route = { ...ids, address, data_key: 'right', available_vram: null, tls_fingerprint: fingerprint }
  table.replace({ feed: 'f', version: 1, models: [model], routes: [route], keys: [] })
  const shared = { table, clock: systemClock, log: silentLogger }
  const liveness = new Liveness({ ...shared, probe: () => expect.unreachable(), ttlMs: 0 })
  const silence = new Silence({ ...shared, askNode: () => expect.unreachable() })
  onTestFinished(() => silence.dispose())
  const coldLoads = new ColdLoads({ ...shared, bus: new ScriptedControl().bus, waitMs: 1, mostWaiting: 10 })
  onTestFinished(() => coldLoads.dispose())
  const tls = new ClientTls()
  tls.show(issuePair(clusterCa(secret), 'client', 'flotilla gateway', Date.now()))
  const allow = () => ({ keyId: null, models: null })
  const waitingRoom = new WaitingRoom(systemClock)
  return serve(() => {}, {
    onUpgrade: upgradeHandler({ ...shared, liveness, silence, waitingRoom, coldLoads, allow, tls }),
  })
}

test('a WebSocket goes through an encrypted data port to the engine and back', async () => {
  const { engine, replica, address, fingerprint } = await aDataPort()
  const url = await aGateway(address, fingerprint)
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/realtime?model=m`)
  onTestFinished(() => socket.close())
  await once(socket, 'open')
  socket.send('hello')
  const [said] = (await once(socket, 'message')) as [MessageEvent<string>]
  expect([said.data, replica.inFlight]).toEqual(['hello', 1])
  socket.close()
  await until(() => replica.inFlight === 0 && engine.sockets.size === 0)
})

test.each([
  ['a node with another certificate', `sha256:${'0'.repeat(64)}`, 'flc_secret'],
  ['a gateway of another cluster', undefined, 'flc_other'],
])('with %s there is none, and the engine hears nothing', async (_, known, secret) => {
  const { engine, address, fingerprint } = await aDataPort()
  const client = await rawClient(await aGateway(address, known ?? fingerprint, secret))
  client.send(handshake('/v1/realtime?model=m'))
  expect(await client.closes()).toMatch(/^HTTP\/1\.1 502 /)
  expect(engine.requests).toEqual([])
})

test('nor is there one in plain text', async () => {
  const { engine, address } = await aDataPort()
  const client = await rawClient(`http://${address}`)
  client.send(handshake(`${replicaPath('r', 7)}/v1/realtime?model=m`, gatewayHeaders))
  expect(await client.closes()).not.toContain('101')
  expect(engine.requests).toEqual([])
})
