import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../support/until.ts'
import { Relay } from './relay.ts'

/** A client, and the server behind a relay; each keeps what it has heard. */
async function aRelay() {
  const arrived: Socket[] = []
  const server = createServer((socket) => void arrived.push(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const relay = await Relay.start({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  onTestFinished(() => {
    relay.dispose()
    server.close()
    for (const socket of arrived) socket.destroy()
  })
  const join = async () => {
    const client = connect(relay.port, '127.0.0.1')
    onTestFinished(() => void client.destroy())
    await once(client, 'connect')
    return heard(client)
  }
  const served = async (index: number) => {
    await until(() => arrived.length > index)
    return heard(arrived[index]!)
  }
  return { relay, join, served, arrived }
}

function heard(socket: Socket) {
  const end = { socket, text: '', isClosed: false }
  socket.on('error', () => {})
  socket.setEncoding('utf8').on('data', (text: string) => (end.text += text))
  socket.on('close', () => (end.isClosed = true))
  return end
}

const aMoment = () => new Promise((resolve) => setTimeout(resolve, 50))

test('what is sent passes in both directions, and so does the end', async () => {
  const { join, served } = await aRelay()
  const client = await join()
  const server = await served(0)
  client.socket.write('up')
  server.socket.write('down')
  await until(() => server.text === 'up' && client.text === 'down')
  client.socket.end()
  await until(() => client.isClosed && server.isClosed)
  expect(client.text).toBe('down')
})

test('what is held waits and is not lost', async () => {
  const { relay, join, served } = await aRelay()
  const client = await join()
  const server = await served(0)
  relay.hold('up')
  client.socket.write('up')
  server.socket.write('down')
  await until(() => client.text === 'down')
  await aMoment()
  expect(server.text).toBe('')
  relay.heal()
  await until(() => server.text === 'up')
  expect(relay.connections).toBe(1)
})

test('one who goes away while all is held is not missed until all is well', async () => {
  const { relay, join, served } = await aRelay()
  const client = await join()
  const server = await served(0)
  relay.hold()
  client.socket.destroy()
  await aMoment()
  expect(server.isClosed).toBe(false)
  relay.heal()
  await until(() => server.isClosed)
  expect(relay.connections).toBe(0)
})

test('a connection that is made while all is held reaches nobody until all is well', async () => {
  const { relay, join, served, arrived } = await aRelay()
  relay.hold()
  const client = await join()
  client.socket.write('up')
  await aMoment()
  expect(arrived).toEqual([])
  relay.heal()
  const server = await served(0)
  await until(() => server.text === 'up')
  expect(client.isClosed).toBe(false)
})

test('one who came and went meanwhile is heard and leaves', async () => {
  const { relay, join, served } = await aRelay()
  relay.hold()
  const client = await join()
  client.socket.end('a word')
  await aMoment()
  relay.heal()
  const server = await served(0)
  await until(() => server.text === 'a word' && server.isClosed)
  expect(relay.connections).toBe(0)
})
