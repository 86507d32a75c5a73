import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { replicaPath } from '../../api/data-port.ts'
import { aDataPort, askRaw, gatewayHeaders, rawEngine } from '../../../test/support/worker/data-port.ts'
import { until } from '../../../test/support/until.ts'

const path = `${replicaPath('r', 7)}/v1/x`

describe('a client that goes away', () => {
  const post = { method: 'POST', headers: { ...gatewayHeaders, 'content-length': '1000' } }

  test.each(['before the answer', 'in the middle of the answer', 'in the middle of its request'])(
    '%s cancels the engine’s request at once',
    async (when) => {
      const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>()
      const { promise: arrived, resolve: onArrived } = Promise.withResolvers<void>()
      const { url, replica } = await aDataPort((request, response) => {
        request.resume()
        if (when === 'in the middle of the answer') response.write('some')
        response.once('close', onClosed)
        onArrived()
      })
      const asked = askRaw(url + path, post, (outgoing) => {
        if (when === 'in the middle of its request') outgoing.write('some')
        else outgoing.end(Buffer.alloc(1000))
        void arrived.then(() => outgoing.destroy())
        if (when === 'in the middle of the answer') outgoing.once('response', () => outgoing.destroy())
      })
      await expect(asked).rejects.toThrow(/aborted|hang up/)
      await closed
      await until(() => replica.inFlight === 0)
      expect(replica.ended).toBe(1)
    },
  )

  test('while the engine does not read what it sends', async () => {
    let engineClosed = false
    const port = await rawEngine((socket) => {
      // It sees the end of the connection only when it reads.
      socket.pause()
      setTimeout(() => socket.resume(), 50)
      socket.once('close', () => (engineClosed = true))
    })
    const { url, replica } = await aDataPort(port)
    const asked = askRaw(url + path, { ...post, headers: gatewayHeaders }, (outgoing) => {
      outgoing.write(Buffer.alloc(100_000))
      void until(() => replica.inFlight === 1).then(() => outgoing.destroy())
    })
    await expect(asked).rejects.toThrow('hang up')
    await until(() => replica.inFlight === 0 && engineClosed)
  })

  test('while its body is held for the model’s name', async () => {
    const { url, replica } = await aDataPort(() => expect.unreachable())
    replica.requestModel = 'other'
    const asked = askRaw(url + path, post, (outgoing) => {
      outgoing.write('{')
      void until(() => replica.inFlight === 1).then(() => outgoing.destroy())
    })
    await expect(asked).rejects.toThrow('hang up')
    await until(() => replica.inFlight === 0)
    expect(replica.ended).toBe(1)
  })

  test('with a second request waiting behind the first on the same connection: both are cancelled', async () => {
    let open = 0
    const { url, replica } = await aDataPort((_, response) => {
      open += 1
      response.once('close', () => (open -= 1))
    })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer right\r\n\r\n`.repeat(2))
    await until(() => open === 2 && replica.inFlight === 2)
    socket.destroy()
    await until(() => open === 0 && replica.inFlight === 0)
    expect(replica.ended).toBe(2)
  })
})
