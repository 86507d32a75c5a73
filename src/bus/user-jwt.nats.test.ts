import { describe, expect, onTestFinished, test } from 'vitest'
import { inboxPrefix, permissionsFor, type BusRole } from '../api/bus/subjects.ts'
import { silentLogger } from '../platform/run/log.ts'
import { aHeartbeat } from '../../test/support/builders.ts'
import { natsAccounts } from '../../test/support/bus/nats-accounts.ts'
import { startNatsServer } from '../../test/support/bus/nats-server.ts'
import { until } from '../../test/support/until.ts'
import { connectBus, type Bus } from './bus.ts'
import { connectNats } from './connect.ts'
import { newSeed, publicKeyOf } from './nkey.ts'
import { mintUserJwt } from './user-jwt.ts'

const beat = aHeartbeat()
const aStart = { id: 'r', generation: 1, model_name: 'm', replica_index: 0, engine: 'sim', source: null, options: {} }
const second = { timeoutMs: 2000 }

async function aServer() {
  const accounts = natsAccounts()
  const { url, ...server } = await startNatsServer({ accounts })
  onTestFinished(() => server.stop())
  const mint = (seed: string, role: BusRole, clientId: string, lifeMs = 60_000, signer = accounts.signer): string =>
    mintUserJwt(
      signer,
      { publicKey: publicKeyOf(seed), name: clientId, permissions: permissionsFor(role, clientId), lifeMs },
      Date.now(),
    )
  const join = async (role: BusRole, clientId: string, lifeMs?: number): Promise<Bus> => {
    const seed = newSeed()
    const address = { url, seed, jwt: () => mint(seed, role, clientId, lifeMs) }
    const bus = await connectBus({ address, role, clientId, log: silentLogger })
    onTestFinished(() => bus.dispose())
    return bus
  }
  return { url, mint, join }
}

const answered = (control: Bus, nodeId: string): Promise<boolean> =>
  control.request('replicaStart', aStart, { nodeId, ...second }).then(
    () => true,
    () => false,
  )

describe('users of a NATS server with accounts', () => {
  test('roles speak to each other with JWTs of the account', async () => {
    const { join } = await aServer()
    const [control, node] = [await join('control', 'c'), await join('node', 'n1')]
    const heard: string[] = []
    control.subscribe('heartbeat', (_, nodeId) => void heard.push(nodeId))
    node.respond('replicaStart', async () => ({ known_from_seq: 4 }), 'n1')
    await until(() => {
      node.publish('heartbeat', beat, 'n1')
      return heard.length > 0
    })
    await until(() => answered(control, 'n1'))
    const reply = await control.request('replicaStart', aStart, { nodeId: 'n1', ...second })
    expect(reply).toEqual({ known_from_seq: 4 })
    expect(heard[0]).toBe('n1')
  })

  test('a node can neither speak for another, nor hear or answer what is meant for another', async () => {
    const { join } = await aServer()
    const [control, a, b] = [await join('control', 'c'), await join('node', 'a'), await join('node', 'b')]
    const heard: string[] = []
    let stolen = 0
    control.subscribe('heartbeat', (_, nodeId) => void heard.push(nodeId))
    a.respond('replicaStart', async () => ({ known_from_seq: (stolen += 1) }), 'b')
    b.respond('replicaStart', async () => ({ known_from_seq: 9 }), 'b')
    await until(() => {
      a.publish('heartbeat', beat, 'b')
      a.publish('heartbeat', beat, 'a')
      return heard.length >= 3
    })
    await until(() => answered(control, 'b'))
    expect(heard).not.toContain('b')
    expect(stolen).toBe(0)
  })

  test("a node cannot read another's inbox", async () => {
    const { url, mint } = await aServer()
    const seed = newSeed()
    const connection = await connectNats({ url, seed, jwt: () => mint(seed, 'node', 'a') }, 'node', 'a')
    onTestFinished(() => connection.close())
    for (const subject of [`${inboxPrefix('node', 'b')}.>`, '_INBOX.>', `${inboxPrefix('control', 'c')}.*`, '>']) {
      const refusal = new Promise((resolve) => {
        connection.subscribe(subject, { callback: (error) => resolve(error?.message) })
      })
      expect(await refusal, subject).toMatch(/permissions violation/i)
    }
  })

  test('an expired JWT, one of another account and one for another key are refused', async () => {
    const { url, mint } = await aServer()
    const [seed, other] = [newSeed(), newSeed()]
    const stranger = natsAccounts().signer
    for (const jwt of [
      mint(seed, 'node', 'a', -10_000),
      mint(seed, 'node', 'a', 60_000, stranger),
      mint(other, 'node', 'a'),
      '',
    ]) {
      const attempt = connectNats({ url, seed, jwt: () => jwt }, 'node', 'a')
      await expect(attempt).rejects.toThrow(/authorization violation/i)
    }
  })

  test('when a JWT ends the client comes back with a new one, and its subscriptions with it', async () => {
    const { join } = await aServer()
    const control = await join('control', 'c')
    const node = await join('node', 'a', 2000)
    let reconnects = 0
    node.onReconnect(() => void (reconnects += 1))
    node.respond('replicaStart', async () => ({ known_from_seq: 1 }), 'a')
    await until(() => reconnects > 0)
    await until(() => answered(control, 'a'))
    expect(node.isRefused()).toBe(false)
  })
})
