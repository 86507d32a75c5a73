import { expect, onTestFinished, test } from 'vitest'
import type { NodeCredentials } from '../../api/admin/schemas.ts'
import { permissionsFor, type BusRole } from '../../api/bus/subjects.ts'
import { connectBus } from '../../bus/bus.ts'
import { newSeed, publicKeyOf } from '../../bus/nkey.ts'
import { mintUserJwt } from '../../bus/user-jwt.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { aMachine } from '../../../test/support/builders.ts'
import { natsAccounts } from '../../../test/support/bus/nats-accounts.ts'
import { startNatsServer } from '../../../test/support/bus/nats-server.ts'
import { until } from '../../../test/support/until.ts'
import { NodeBus } from './node-bus.ts'

const accounts = natsAccounts()

function mint(publicKey: string, role: BusRole, clientId: string, lifeMs: number): string {
  const permissions = permissionsFor(role, clientId)
  return mintUserJwt(accounts.signer, { publicKey, name: clientId, permissions, lifeMs }, Date.now())
}

async function aNode() {
  const server = await startNatsServer({ accounts })
  onTestFinished(() => server.stop())
  const seed = newSeed()
  let connects = 0
  const bus = new NodeBus({
    seed,
    log: silentLogger,
    obey: (to, nodeId) => to.respond('nodeShutdown', async () => ({}), nodeId),
    onConnected: () => void (connects += 1),
  })
  onTestFinished(() => bus.dispose())
  const credentials = (lifeMs: number, url = server.url): NodeCredentials => ({
    bus_url: url,
    bus_jwt: mint(publicKeyOf(seed), 'node', 'n1', lifeMs),
    data_key: 'd',
    heartbeat_period_ms: 1000,
  })
  return { server, bus, credentials, connects: () => connects }
}

async function aControl(url: string) {
  const seed = newSeed()
  const jwt = (): string => mint(publicKeyOf(seed), 'control', 'c', 60_000)
  const bus = await connectBus({ address: { url, seed, jwt }, role: 'control', clientId: 'c', log: silentLogger })
  onTestFinished(() => bus.dispose())
  const heard: string[] = []
  bus.subscribe('heartbeat', (_, nodeId) => void heard.push(nodeId))
  const obeyed = (): Promise<boolean> =>
    bus.request('nodeShutdown', { reason: '' }, { nodeId: 'n1', timeoutMs: 1000 }).then(
      () => true,
      () => false,
    )
  return { heard, obeyed }
}

const aHeartbeat = { boot_id: 'b', seq: 1, replicas: [], engines: [], ...aMachine() }

test('a renewed JWT is in force when the old one ends: the node obeys and is heard as before', async () => {
  const { server, bus, credentials, connects } = await aNode()
  const control = await aControl(server.url)
  await bus.use('n1', credentials(2000))
  await until(control.obeyed)
  await bus.use('n1', credentials(60_000))
  // No reconnect for a new JWT; one when the server ends the old one.
  expect(connects()).toBe(1)
  await until(() => connects() === 2)
  await until(control.obeyed)
  await until(() => {
    bus.publish('heartbeat', aHeartbeat)
    return control.heard.length > 0
  })
})

test('a JWT that ended unrenewed leaves the node outside, and a new one lets it in again', async () => {
  const { server, bus, credentials } = await aNode()
  const control = await aControl(server.url)
  await bus.use('n1', credentials(1500))
  await until(() => bus.isRefused())
  expect(bus.isConnected()).toBe(false)
  await bus.use('n1', credentials(60_000))
  expect([bus.isConnected(), bus.isRefused()]).toEqual([true, false])
  await until(control.obeyed)
})

test('a bus at another address is moved to; one that is not there leaves things as they are', async () => {
  const { bus, credentials } = await aNode()
  await bus.use('n1', credentials(60_000))
  await expect(bus.use('n1', credentials(60_000, 'nats://127.0.0.1:1'))).rejects.toMatchObject({ code: 'unavailable' })
  expect(bus.isConnected()).toBe(true)
  const other = await startNatsServer({ accounts })
  onTestFinished(() => other.stop())
  await bus.use('n1', credentials(60_000, other.url))
  const control = await aControl(other.url)
  await until(control.obeyed)
})
