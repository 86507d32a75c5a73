import { nkeys } from '@nats-io/transport-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inboxPrefix, permissionsFor, subjectOf } from '../api/bus/subjects.ts'
import { natsAccounts } from '../../test/support/bus/nats-accounts.ts'
import { startNatsServer } from '../../test/support/bus/nats-server.ts'
import { startBroker } from './broker/broker.ts'
import { connectLine, RawClient } from './conformance/raw-client.ts'
import { newSeed, publicKeyOf } from './nkey.ts'
import { busClients, matrixPage, matrixRows, type BusClient } from './permission-matrix-suite.ts'
import { mintUserJwt } from './user-jwt.ts'

/** Everybody of the matrix, connected as they are in a cluster. */
type Everybody = (name: string) => RawClient

const brokers: Record<string, () => Promise<Everybody>> = {
  'the embedded broker': async () => {
    const seeds = seedsOf()
    const users = busClients.map(({ name, role, id }) => {
      return { publicKey: publicKeyOf(seeds.get(name)!), permissions: permissionsFor(role, id) }
    })
    const broker = await startBroker({ host: '127.0.0.1', port: 0, users })
    onTestFinished(() => broker.dispose())
    return connectAll(broker, seeds, () => ({}))
  },
  'a NATS server with accounts': async () => {
    const seeds = seedsOf()
    const accounts = natsAccounts()
    const server = await startNatsServer({ accounts })
    onTestFinished(() => server.stop())
    return connectAll(server, seeds, ({ name, role, id }) => {
      const publicKey = publicKeyOf(seeds.get(name)!)
      const user = { publicKey, name: id, permissions: permissionsFor(role, id), lifeMs: 600_000 }
      return { jwt: mintUserJwt(accounts.signer, user, Date.now()) }
    })
  },
}

describe.each(Object.entries(brokers))('on %s', (_, start) => {
  test('each may say and hear exactly what the table says', async () => {
    const as = await start()
    const wrong: string[] = []
    for (const client of busClients) {
      for (const [i, row] of matrixRows.entries()) {
        const { subject } = row
        const answer = await as(client.name).say(`SUB ${subject} ${i}\r\nUNSUB ${i}\r\n`)
        const hears = !answer.includes('Permissions Violation for Subscription')
        if (hears !== row.mayHear(client)) wrong.push(`${client.name} ${hears ? 'hears' : 'does not hear'} ${subject}`)
        if (row.isPattern) continue
        const says = !(await as(client.name).say(`PUB ${subject} 1\r\nx\r\n`)).includes('Violation for Publish')
        if (says !== row.maySay(client)) wrong.push(`${client.name} ${says ? 'says' : 'does not say'} ${subject}`)
      }
    }
    expect(wrong).toEqual([])
  })

  test('node A can neither overhear what node B is told or says, nor its answers', async () => {
    const as = await start()
    const [control, a, b] = [as('control'), as('node A'), as('node B')]
    const inbox = inboxPrefix('control', 'c')
    for (const [i, { subject }] of matrixRows.entries())
      await a.say(`SUB ${subject} ${i}\r\nSUB ${subject} q ${i}q\r\n`)
    await b.say(`SUB ${subjectOf('replicaStart', 'b')} 1\r\n`)
    await control.say(`SUB ${inbox}.* 1\r\nSUB ${subjectOf('heartbeat')} 2\r\n`)
    await control.say(`PUB ${subjectOf('replicaStart', 'b')} ${inbox}.1 6\r\nsecret\r\n`)
    expect(await b.say('')).toContain('secret')
    await b.say(`PUB ${inbox}.1 6\r\nanswer\r\nPUB ${subjectOf('heartbeat', 'b')} 5\r\nalive\r\n`)
    const heard = await control.say('')
    expect(heard).toContain('answer')
    expect(heard).toContain('alive')
    expect(await a.say('')).toBe('')
  })

  test("node A can neither speak for node B, nor answer in its place, nor write into anybody's inbox", async () => {
    const as = await start()
    const [control, a, b] = [as('control'), as('node A'), as('node B')]
    const inbox = inboxPrefix('control', 'c')
    await b.say(`SUB ${subjectOf('replicaStart', 'b')} 1\r\n`)
    await control.say(`SUB ${inbox}.* 1\r\nSUB ${subjectOf('heartbeat')} 2\r\n`)
    await control.say(`PUB ${subjectOf('replicaStart', 'b')} ${inbox}.7 1\r\n?\r\n`)
    const forged = [
      subjectOf('heartbeat', 'b'),
      `${inbox}.7`,
      `${inboxPrefix('node', 'b')}.1`,
      subjectOf('replicaStart', 'b'),
    ]
    for (const subject of forged) {
      expect(await a.say(`PUB ${subject} 6\r\nforged\r\n`), subject).toContain('Permissions Violation for Publish')
    }
    // With a reply subject of another, B's answer would go where A wants it; but A may not ask B anything.
    expect(await control.say('')).toBe('')
    expect(await b.say('')).not.toContain('forged')
  })
})

test('on the embedded broker each may have answers sent to its own inbox, and nowhere else', async () => {
  const as = await brokers['the embedded broker']!()
  const subjectsOf: Record<BusClient['role'], string> = {
    control: subjectOf('replicaStart', 'b'),
    gateway: subjectOf('routingSnapshot'),
    node: subjectOf('heartbeat', 'a'),
  }
  for (const { name, role, id } of busClients.filter(({ id: one }) => one !== 'b')) {
    for (const { subject } of matrixRows.filter(({ isPattern }) => !isPattern)) {
      const isRefused = (await as(name).say(`PUB ${subjectsOf[role]} ${subject} 1\r\nx\r\n`)).includes('Violation')
      expect(isRefused, `${name} names ${subject}`).toBe(subject !== `${inboxPrefix(role, id)}.x`)
    }
  }
})

test('the page shows what is tried', async () => {
  await expect(matrixPage()).toMatchFileSnapshot('../../docs/reference/bus-permissions.md')
})

function seedsOf(): Map<string, string> {
  return new Map(busClients.map(({ name }) => [name, newSeed()]))
}

async function connectAll(
  server: { host: string; port: number },
  seeds: ReadonlyMap<string, string>,
  credentialsOf: (client: BusClient) => Record<string, unknown>,
): Promise<Everybody> {
  const connected = new Map<string, RawClient>()
  for (const client of busClients) {
    const raw = await RawClient.open(server, { connect: false })
    onTestFinished(() => raw.close())
    const pair = nkeys.fromSeed(new TextEncoder().encode(seeds.get(client.name)))
    const sig = Buffer.from(pair.sign(Buffer.from(String(raw.info['nonce'])))).toString('base64url')
    raw.send(connectLine({ nkey: pair.getPublicKey(), sig, ...credentialsOf(client) }))
    connected.set(client.name, raw)
  }
  return (name) => connected.get(name)!
}
