import { onTestFinished } from 'vitest'
import { permissionsFor } from '../../../src/api/bus/subjects.ts'
import { startBroker } from '../../../src/bus/broker/broker.ts'
import { connectBus, type Bus } from '../../../src/bus/bus.ts'
import { newSeed, publicKeyOf } from '../../../src/bus/nkey.ts'
import { silentLogger } from '../../../src/platform/run/log.ts'

/** A broker that lets `control` and the gateways named do only what their role may, and the way to join it. */
export async function roleBuses(gateways: readonly string[]): Promise<(name: string) => Promise<Bus>> {
  const seeds = new Map(['control', ...gateways].map((name) => [name, newSeed()]))
  const roleOf = (name: string) => (name === 'control' ? 'control' : 'gateway')
  const users = [...seeds].map(([name, seed]) => {
    return { publicKey: publicKeyOf(seed), permissions: permissionsFor(roleOf(name), name) }
  })
  const broker = await startBroker({ host: '127.0.0.1', port: 0, users })
  onTestFinished(() => broker.dispose())
  return async (name) => {
    const address = { url: broker.url, seed: seeds.get(name)! }
    const bus = await connectBus({ address, role: roleOf(name), clientId: name, log: silentLogger })
    onTestFinished(() => bus.dispose())
    return bus
  }
}
