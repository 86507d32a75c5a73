import type { Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { newSeed } from '../../bus/nkey.ts'
import { clusterCa, issuePair } from '../../control/joining/cluster-ca.ts'
import { startHttpServer, type Handler } from '../../http/server.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { Strand } from '../../http/mux/mux-stream.ts'
import { ClientTls } from '../../platform/tls/client-tls.ts'
import { fixedTls } from '../../platform/tls/listener-tls.ts'
import type { CountedShortcut } from '../../../test/support/http/counted-shortcut.ts'
import { aCertificatePair } from '../../../test/support/http/certificates.ts'
import { rawEngine } from '../../../test/support/worker/data-port.ts'
import { aRouteMessage } from '../../../test/support/gateway/gateway-stage.ts'
import { serve } from '../../../test/support/http/http.ts'
import { KeptClient } from '../../../test/support/http/kept-client.ts'
import { rawClient, type RawClient } from '../../../test/support/http/raw-client.ts'
import { answerWhole, askBytes, aShortStage } from '../../../test/support/http/short-stage.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { DataTls } from '../../worker/data-port/data-tls.ts'

/** An engine that answers at once, or, while it is held, when it is released. It counts its connections. */
function holdable(text = '{}') {
  const held: { isClosed: boolean; letGo: () => void }[] = []
  const sockets = new Set<Socket>()
  const worker = {
    held,
    sockets,
    isHeld: false,
    handler: ((request, response) => {
      sockets.add(request.socket)
      if (!worker.isHeld) return answerWhole(text)(request, response)
      const one = { isClosed: false, letGo: () => answerWhole(text)(request, response) }
      response.once('close', () => (one.isClosed = true))
      held.push(one)
    }) as Handler,
  }
  return worker
}

const timesIn = (text: string, part: string): number => text.split(part).length - 1

describe('a client that goes away', () => {
  test('before its answer ends the work for it, and nobody else’s', async () => {
    const worker = holdable()
    const { ask, url, counted, decisions, isQuiet } = await aShortStage([worker.handler])
    worker.isHeld = true
    const other = new KeptClient(url)
    // Two connections to the worker, of which one is idle when the other ends: strands, as soon as there is a cable.
    await until(async () => {
      worker.sockets.clear()
      const both = [ask(), ask({}, other)]
      await until(() => worker.held.length === 2)
      for (const one of worker.held.splice(0)) one.letGo()
      await Promise.all(both)
      return [...worker.sockets].every((socket) => socket instanceof Strand)
    })
    expect(worker.sockets.size).toBe(2)
    const takenBefore = counted.taken
    const client = await rawClient(url)
    client.send(askBytes({ id: 'gone' }))
    await until(() => worker.held.length === 1)
    expect(counted.taken).toBe(takenBefore + 1)
    client.socket.destroy()
    await until(() => worker.held[0]!.isClosed && isQuiet())
    expect(decisions.find('gone')).toMatchObject({ status: 499, tries: [{ outcome: 'client gone', status: null }] })
    worker.isHeld = false
    for (let i = 0; i < 3; i += 1) expect((await ask()).status).toBe(200)
    expect(worker.sockets.size).toBe(2)
  })

  test('while its answer waits for it to read is recorded so, and the worker’s connection serves others', async () => {
    const { client, stage, worker, last } = await aFullClient()
    client.socket.destroy()
    await until(() => stage.isQuiet() && stage.decisions.find(last) !== undefined)
    expect(stage.decisions.find(last)).toMatchObject({ status: 499, tries: [{ outcome: 'client gone', status: 200 }] })
    expect((await stage.ask()).status).toBe(200)
    expect(worker.sockets.size).toBe(1)
  })
})

describe('a client that reads slowly', () => {
  test('has all of its answers in the end', async () => {
    const { client, stage, sent, last } = await aFullClient()
    client.socket.resume()
    await until(() => timesIn(client.text(), LONG) === sent && stage.isQuiet())
    expect(stage.decisions.find(last)).toMatchObject({ status: 200, tries: [{ outcome: 'served' }] })
    expect(timesIn(client.text(), 'HTTP/1.1 200 OK')).toBe(sent)
  })

  test('and asks for more before it says that it is done, has that too', async () => {
    const { client, stage, sent } = await aFullClient()
    client.send(askBytes({ id: 'the last of all' }))
    client.endSending()
    await until(() => client.socket.writableFinished)
    // All of that is with the gateway before this client reads on: it is in the same process.
    for (let turn = 0; turn < 50; turn += 1) await nextTurn()
    client.socket.resume()
    await client.closes()
    expect(timesIn(client.text(), LONG)).toBe(sent + 1)
    expect(client.text().slice(client.text().lastIndexOf('HTTP/1.1'))).toMatch(
      /^HTTP\/1.1 200 OK\r\n[^]*Connection: close/,
    )
    await until(stage.isQuiet)
    expect(stage.decisions.find('the last of all')).toMatchObject({ status: 200 })
  })
})

const LONG = 'x'.repeat(20_000)

/** A client that has asked for so much on the shortcut, without reading any, that its last answer cannot be sent. */
async function aFullClient() {
  const worker = holdable(LONG)
  const stage = await aShortStage([worker.handler])
  const client = await rawClient(stage.url)
  client.socket.pause()
  const { counted } = stage
  let sent = 0
  while (stage.isQuiet()) {
    client.send(askBytes({ id: `id-${sent}` }))
    const isThere = () => stage.decisions.find(`id-${sent}`) !== undefined || isAnswered(counted, sent)
    // Hundreds of them: to sleep in between would take seconds.
    for (let turn = 0; turn < 1_000_000 && !isThere(); turn += 1) await nextTurn()
    sent += 1
    // What the system can take it takes at once, or when it looks again, which is after 200 ms.
    for (let turn = 0; turn < 50 && !stage.isQuiet(); turn += 1) await nextTurn()
    for (let look = 0; look < 30 && !stage.isQuiet(); look += 1) await new Promise((resolve) => setTimeout(resolve, 10))
    if (sent > 5000) throw new Error('its connection is never full')
  }
  expect(counted.answered).toBeGreaterThan(sent / 2)
  return { client, stage, worker, sent, last: `id-${sent - 1}` }
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** The first of a connection is none of those that are counted. */
function isAnswered({ answered, lengthened }: CountedShortcut, sent: number): boolean {
  return sent > 0 && answered + lengthened === sent
}

test('a client that says no more before its answer still gets it, and the connection ends', async () => {
  const worker = holdable()
  const { ask, url, counted, isQuiet, decisions } = await aShortStage([worker.handler])
  await ask()
  worker.isHeld = true
  const client = await rawClient(url)
  client.send(askBytes({ id: 'half' }))
  await until(() => worker.held.length === 1)
  expect(counted.counts()).toEqual({ taken: 1, answered: 0, lengthened: 0 })
  client.endSending()
  await until(() => counted.lengthened === 1)
  worker.held[0]!.letGo()
  expect(await client.closes()).toMatch(/HTTP\/1.1 200 OK\r\n[^]*Connection: close\r\n\r\n\{\}$/)
  await until(isQuiet)
  expect(decisions.find('half')).toMatchObject({ status: 200 })
})

test('requests that come before the first has its answer have theirs in order', async () => {
  const worker = holdable()
  const { ask, url, counted, isQuiet } = await aShortStage([worker.handler])
  await ask()
  worker.isHeld = true
  const client = await rawClient(url)
  client.send(askBytes({ id: 'first' }))
  await until(() => worker.held.length === 1)
  client.send(askBytes({ id: 'second' }) + askBytes({ id: 'third' }))
  client.send(askBytes({ id: 'fourth' }).slice(0, 50))
  worker.isHeld = false
  worker.held[0]!.letGo()
  await client.reads(/x-request-id: third[^]*\{\}$/)
  client.send(askBytes({ id: 'fourth' }).slice(50))
  await client.reads(/x-request-id: fourth[^]*\{\}$/)
  const ids = Array.from(client.text().matchAll(/x-request-id: (\w+)/g), ([, id]) => id)
  expect(ids).toEqual(['first', 'second', 'third', 'fourth'])
  expect(counted.counts()).toMatchObject({ taken: 2, answered: 2 })
  await until(isQuiet)
})

test('a server that closes lets a request on the shortcut end, and its connection with it', async () => {
  const worker = holdable()
  const { wire, counted, isQuiet } = await aShortStage([worker.handler])
  const listen = { host: '127.0.0.1', port: 0 }
  const fixed = { listen, purpose: 'a test', flag: '--none', handler: wire.handler, log: silentLogger }
  const server = await startHttpServer({ ...fixed, wire })
  onTestFinished(() => server.dispose(0))
  const client = await rawClient(`http://127.0.0.1:${server.address.port}`)
  client.send(askBytes())
  await client.reads('{}')
  worker.isHeld = true
  client.send(askBytes({ id: 'under-way' }))
  await until(() => worker.held.length === 1)
  const disposed = server.dispose(60_000)
  // It says so only once no new connection is accepted.
  await until(() => server.address.port > 0 && isClosing(server.address.port))
  worker.held[0]!.letGo()
  expect((await client.closes()).slice(-100)).toMatch(/Connection: close\r\n\r\n\{\}$/)
  await disposed
  expect(counted.counts()).toEqual({ taken: 1, answered: 1, lengthened: 0 })
  expect(isQuiet()).toBe(true)
})

async function isClosing(port: number): Promise<boolean> {
  const client: RawClient | undefined = await rawClient(`http://127.0.0.1:${port}`).catch(() => undefined)
  client?.socket.destroy()
  return client === undefined
}

test('a kept connection that its worker has closed meanwhile is no failure: the request goes on a new one', async () => {
  // Whoever hangs up within a second had not read the request, and how fast this machine is does not matter here.
  const stopped = vi.spyOn(performance, 'now').mockReturnValue(1_000_000)
  onTestFinished(() => stopped.mockRestore())
  let connections = 0
  const port = await rawEngine((socket) => {
    connections += 1
    let requests = 0
    socket.on('data', () => {
      requests += 1
      if (requests === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
      else socket.destroy()
    })
  })
  const { ask, counted, decisions, isQuiet } = await aShortStage([], { addresses: [`127.0.0.1:${port}`] })
  for (const id of ['a', 'b', 'c']) expect(await ask({ id })).toMatchObject({ status: 200, body: '{}' })
  expect(decisions.find('b')).toMatchObject({ tries: [{ outcome: 'served' }] })
  expect(counted.counts()).toEqual({ taken: 2, answered: 1, lengthened: 1 })
  expect(connections).toBe(3)
  await until(isQuiet)
})

test('a request whose node is gone without a word moves to another replica', async () => {
  const clock = new VirtualClock(1_000_000)
  let isGone = false
  let isAsked = false
  const port = await rawEngine((socket) => {
    if (isGone) return void socket.destroy()
    socket.on('data', () => {
      if (isGone) isAsked = true
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfirst')
    })
  })
  const { port: other } = new URL(`http://127.0.0.1:${await rawEngine(secondWorker)}`)
  const addresses = [`127.0.0.1:${port}`, `127.0.0.1:${other}`]
  const { ask, counted, decisions, isQuiet } = await aShortStage([], { addresses, clock })
  expect((await ask()).body).toBe('first')
  await clock.advance(10)
  expect((await ask()).body).toBe('second')
  await clock.advance(10)
  isGone = true
  const asked = ask({ id: 'moved' })
  await until(() => isAsked)
  expect(counted.counts()).toEqual({ taken: 2, answered: 1, lengthened: 0 })
  let body: string | undefined
  void asked.then((answer) => (body = answer.body))
  // Its node is asked by a connection of its own, which takes its time.
  await until(async () => {
    await clock.advance(1000)
    return body !== undefined
  })
  expect(body).toBe('second')
  await until(isQuiet)
  const { tries } = decisions.find('moved')!
  expect(tries).toMatchObject([
    { replica_id: 'r0', outcome: 'unreachable' },
    { replica_id: 'r1', outcome: 'served' },
  ])
  expect(tries[0]!.error).toContain('its node does not answer')
  expect(tries[0]!.ms).toBeGreaterThanOrEqual(2000)
})

test('the shortcut is there where all is encrypted, too', async () => {
  const ca = clusterCa('flc_secret')
  const data = new DataTls(newSeed(), 'on', join(tempFolder(), 'data.ca'))
  data.use(ca.certificate)
  const dataTls = { upgrade: () => data.upgrade, mayBePlain: () => false }
  const address = new URL(await serve(answerWhole('{"a":1}'), { tls: dataTls })).host
  const tls = new ClientTls()
  tls.show(issuePair(ca, 'client', 'flotilla gateway', Date.now()))
  const { wire, table, counted, isQuiet } = await aShortStage([], { tls })
  const set = [aRouteMessage(0, { address, tls_fingerprint: data.fingerprint })]
  table.apply({ feed: 'f', version: 2, from_version: 1, set, removed: [], heard: ['n0'] }, Date.now())
  const { upgrade } = fixedTls(aCertificatePair())
  const client = await rawClient(await serve(wire.handler, { wire, tls: { upgrade: () => upgrade } }))
  for (let times = 1; times <= 3; times += 1) {
    client.send(askBytes())
    await until(() => timesIn(client.text(), '{"a":1}') === times)
  }
  await until(isQuiet)
  expect(counted.taken).toBe(2)
})

function secondWorker(socket: Socket): void {
  socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecond'))
}
