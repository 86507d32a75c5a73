import { expect, onTestFinished, test } from 'vitest'
import { permissionsFor } from '../api/bus/subjects.ts'
import { silentLogger } from '../platform/run/log.ts'
import { until } from '../../test/support/until.ts'
import { startBroker } from './broker/broker.ts'
import { connectBus, type Bus } from './bus.ts'
import { MovingBus } from './moving-bus.ts'
import { newSeed, publicKeyOf } from './nkey.ts'

const seed = newSeed()
const aRecord = { gateway: 'x', seq: 1, counts: { r: 1 } }

/** A broker with a gateway that may come, and another that is there. */
async function aBroker(isKnown = true) {
  const other = newSeed()
  const users = [
    { publicKey: publicKeyOf(other), permissions: permissionsFor('gateway', 'other') },
    ...(isKnown ? [{ publicKey: publicKeyOf(seed), permissions: permissionsFor('gateway', 'g') }] : []),
  ]
  const broker = await startBroker({ host: '127.0.0.1', port: 0, users })
  onTestFinished(() => broker.dispose())
  const join = async (): Promise<Bus> => {
    const address = { url: broker.url, seed: other }
    const bus = await connectBus({ address, role: 'gateway', clientId: 'other', log: silentLogger })
    onTestFinished(() => bus.dispose())
    return bus
  }
  return { broker, join, credentials: { bus_url: broker.url, bus_jwt: null } }
}

function aMover() {
  const bus = new MovingBus({ role: 'gateway', seed, log: silentLogger })
  onTestFinished(() => bus.dispose())
  const heard: string[] = []
  let connects = 0
  bus.subscribe('gatewayLoad', ({ gateway }) => void heard.push(gateway))
  bus.onReconnect(() => void (connects += 1))
  return { bus, heard, connects: () => connects }
}

test('before there is a bus it is not connected, what is published is lost and requests fail', async () => {
  const { bus } = aMover()
  expect([bus.isConnected(), bus.isRefused()]).toEqual([false, false])
  expect(() => bus.publish('gatewayLoad', aRecord)).not.toThrow()
  await expect(bus.request('routingSnapshot', { part: 0 }, { timeoutMs: 1000 })).rejects.toMatchObject({
    code: 'unavailable',
  })
})

test('earlier subscriptions get messages at each address it moves to', async () => {
  const { bus, heard, connects } = aMover()
  const [first, second] = [await aBroker(), await aBroker()]
  for (const { join, credentials } of [first, second]) {
    const other = await join()
    await bus.use('g', credentials)
    heard.length = 0
    await until(() => {
      other.publish('gatewayLoad', aRecord)
      return heard.length > 0
    })
  }
  expect(connects()).toBe(2)
  await bus.use('g', second.credentials)
  expect(connects()).toBe(2)
})

test('a place that does not take us leaves things as they are', async () => {
  const { bus } = aMover()
  const [good, bad] = [await aBroker(), await aBroker(false)]
  await bus.use('g', good.credentials)
  await expect(bus.use('g', bad.credentials)).rejects.toMatchObject({ code: 'unavailable' })
  expect(bus.isConnected()).toBe(true)
})

test('disposed while it connects, it leaves no connection behind', async () => {
  const { broker, credentials } = await aBroker()
  const { bus, connects } = aMover()
  const using = bus.use('g', credentials)
  await bus.dispose()
  await using
  expect([bus.isConnected(), connects()]).toEqual([false, 0])
  await broker.dispose()
})
