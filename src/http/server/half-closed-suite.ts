import { describe, expect, test } from 'vitest'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { until } from '../../../test/support/until.ts'
import type { ExchangeHandler, HttpResponse } from '../exchange.ts'

const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'

/** Without the 100 Continue that only probes whether the client is still there. */
const answerIn = (text: string): string => text.replaceAll('HTTP/1.1 100 Continue\r\n\r\n', '')
const aWhile = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 250))

/** Clients that close their side, for each kind of server. `serve` starts a server and returns its URL. */
export function halfClosedSuite(serve: (handler: ExchangeHandler) => Promise<string>): void {
  /** A server that answers when told to, and a client that has connected to it. */
  const aServer = async () => {
    const responses: HttpResponse[] = []
    let closed = 0
    const url = await serve((request, response) => {
      responses.push(response)
      request.socket.once('close', () => (closed += 1))
    })
    const client = await rawClient(url)
    const asked = async (count = 1) => {
      await until(() => responses.length === count)
      return responses
    }
    return { client, asked, closed: () => closed }
  }

  describe('a client that has said all it has to say', () => {
    test('gets its answer, also much later', async () => {
      const { client, asked } = await aServer()
      client.send(GET)
      client.endSending()
      const [response] = await asked()
      await aWhile()
      response!.end('here you are')
      expect(answerIn(await client.closes())).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*here you are$/)
    })

    test('gets all the answers that it waits for', async () => {
      const { client, asked } = await aServer()
      client.send(GET.repeat(2))
      client.endSending()
      for (const [i, response] of (await asked(2)).entries()) response.end(`answer ${i}`)
      expect(await client.closes()).toMatch(/answer 0[\s\S]*answer 1$/)
    })

    test('gets a stream that was under way, with every chunk as long as it says', async () => {
      const { client, asked } = await aServer()
      client.send(GET)
      const [response] = await asked()
      response!.write('first')
      await client.reads('first')
      client.endSending()
      await aWhile()
      response!.write('x'.repeat(20))
      await aWhile()
      response!.end('last')
      const chunks = (await client.closes()).split('\r\n\r\n').slice(1).join('\r\n\r\n')
      expect(chunks).toMatch(/^5\r\nfirst\r\n0*14\r\nx{20}\r\n0*4\r\nlast\r\n0+\r\n\r\n$/)
    })
  })

  test('a client that has closed its side gets all of a long answer, as fast or slowly as it reads', async () => {
    const { client, asked } = await aServer()
    client.send(GET)
    client.endSending()
    const [response] = await asked()
    client.socket.pause()
    response!.writeHead(200, { 'content-length': String(8_000_000) })
    response!.end(Buffer.alloc(8_000_000, 'x'))
    await aWhile()
    client.socket.resume()
    expect(answerIn(await client.closes()).split('\r\n\r\n')[1]).toHaveLength(8_000_000)
  })

  describe('a client that is gone', () => {
    test.each([
      ['in the middle of an answer that has told its length', GET, { 'content-length': '100' }],
      ['and spoke the old HTTP', 'GET / HTTP/1.0\r\n\r\n', undefined],
    ])('%s cannot be asked: it is gone when nothing more could be sent', async (_, text, headers) => {
      const { client, asked, closed } = await aServer()
      client.send(text)
      const [response] = await asked()
      if (headers) response!.writeHead(200, headers).write('first')
      if (headers) await client.reads('first')
      client.socket.destroy()
      await until(() => closed() === 1)
      expect(response!.writableEnded).toBe(false)
    })

    test.each(['before its answer', 'in the middle of a stream'])(
      '%s is noticed without anything being sent',
      async (when) => {
        const { client, asked, closed } = await aServer()
        client.send(GET)
        const [response] = await asked()
        if (when !== 'before its answer') {
          response!.write('first')
          await client.reads('first')
        }
        client.socket.destroy()
        await until(() => closed() === 1)
        expect(response!.writableEnded).toBe(false)
      },
    )
  })
}
