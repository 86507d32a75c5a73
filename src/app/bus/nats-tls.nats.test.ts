import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aCertificate } from '../../bus/conformance/credentials.ts'
import { connectBus, type Bus } from '../../bus/bus.ts'
import { newSeed, publicKeyOf } from '../../bus/nkey.ts'
import { openMessageBus, readNatsTls } from './message-bus.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { aHeartbeat } from '../../../test/support/builders.ts'
import { natsAccounts } from '../../../test/support/bus/nats-accounts.ts'
import { startNatsServer } from '../../../test/support/bus/nats-server.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'

/** A NATS server with accounts that shows a certificate and, if told so, asks for one; and the files of who comes. */
async function aServer({ asksForOne = false } = {}) {
  const folder = tempFolder()
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 })
    return join(folder, name)
  }
  const [server, client, stranger] = [await aCertificate(), await aCertificate(), await aCertificate()]
  const accounts = natsAccounts()
  const nats = await startNatsServer({ accounts, tls: { ...server, ...(asksForOne ? { ca: client.cert } : {}) } })
  onTestFinished(() => nats.stop())
  const seedFile = file('account', accounts.seed)
  const open = (config: Partial<Parameters<typeof readNatsTls>[0]>) =>
    openMessageBus(
      {
        natsUrl: nats.url,
        natsTls: readNatsTls({ nats_ca: undefined, nats_cert: undefined, nats_key: undefined, ...config }),
        accountSeedFile: seedFile,
        isInsecure: false,
        listen: undefined,
        defaultHost: '127.0.0.1',
        approved: [],
      },
      silentLogger,
    )
  const files = {
    nats_ca: file('ca.pem', server.cert),
    nats_cert: file('cert.pem', client.cert),
    nats_key: file('key.pem', client.key),
  }
  const other = {
    ca: file('other.pem', stranger.cert),
    cert: file('o.pem', stranger.cert),
    key: file('o.key', stranger.key),
  }
  return { open, files, other, serverCert: server.cert }
}

async function enter(bus: Awaited<ReturnType<typeof openMessageBus>>): Promise<Bus> {
  const connected = await connectBus({ ...bus.client('control'), log: silentLogger })
  onTestFinished(() => connected.dispose())
  return connected
}

describe('a NATS server with TLS', () => {
  test('is known by --nats-ca, and nodes are told that CA', async () => {
    const { open, files, serverCert } = await aServer()
    const bus = await open({ nats_ca: files.nats_ca })
    expect(bus.url).toMatch(/^tls:/)
    expect(bus.certificate).toEqual({ bus_ca: serverCert })
    const control = await enter(bus)
    const heard: string[] = []
    control.subscribe('heartbeat', (_, nodeId) => void heard.push(nodeId))
    // As a node does, with what it was given.
    const seed = newSeed()
    const jwt = bus.jwtFor({ nodeId: 'n1', publicKey: publicKeyOf(seed) })!
    const address = { url: bus.url, seed, jwt: () => jwt, tls: { ca: bus.certificate.bus_ca } }
    const node = await connectBus({ address, role: 'node', clientId: 'n1', log: silentLogger })
    onTestFinished(() => node.dispose())
    await until(() => {
      node.publish('heartbeat', aHeartbeat(), 'n1')
      return heard.length > 0
    })
    expect(heard[0]).toBe('n1')
  })

  test('of which the CA is another, or not known, is not spoken to', async () => {
    const { open, other } = await aServer()
    await expect(enter(await open({ nats_ca: other.ca }))).rejects.toThrow(/self-signed|certificate/i)
    await expect(enter(await open({}))).rejects.toThrow(/self-signed|certificate/i)
  })

  test('that asks for a certificate gets the one of --nats-cert and --nats-key, and lets nobody in without', async () => {
    const { open, files, other } = await aServer({ asksForOne: true })
    const control = await enter(await open(files))
    expect(control.isConnected()).toBe(true)
    const wrong = { ...files, nats_cert: other.cert, nats_key: other.key }
    // The server just hangs up, which is noticed in time only.
    const attempts = [{ nats_ca: files.nats_ca }, wrong].map(async (config) => enter(await open(config)))
    for (const { status } of await Promise.allSettled(attempts)) expect(status).toBe('rejected')
  })
})
