import { createServer } from '../../../src/http/server/node-http.ts'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import { answerMemory } from '../../worker/memory.ts'

/** The usual way in Node: node:http in front, undici's pools behind, the least busy upstream, `model` read from the body. */
interface Handler {
  onRequestStart(): void
  onResponseStart(controller: unknown, status: number, headers: Record<string, string>): void
  onResponseData(controller: { pause(): void; resume(): void }, piece: Buffer): void
  onResponseEnd(): void
  onResponseError(): void
}
interface Pool {
  dispatch(options: object, handler: Handler): void
}

const [module, ...ports] = process.argv.slice(2)
const { Pool } = (await import(pathToFileURL(module!).href)) as {
  Pool: new (url: string, options: object) => Pool
}
const upstreams = ports.map((port) => ({
  pool: new Pool(`http://127.0.0.1:${port}`, { connections: null }),
  inFlight: 0,
}))
const server = createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const body = Buffer.concat(pieces)
    const { model } = JSON.parse(body.toString()) as { model?: string }
    if (typeof model !== 'string') return void response.writeHead(400).end()
    const best = upstreams.reduce((a, b) => (b.inFlight < a.inFlight ? b : a))
    best.inFlight += 1
    const over = (): void => {
      best.inFlight -= 1
      response.end()
    }
    const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers
    best.pool.dispatch(
      { path: request.url, method: 'POST', headers, body },
      {
        onRequestStart() {},
        onResponseStart: (_, status, { 'transfer-encoding': _coding, connection: _kept, ...answered }) =>
          void response.writeHead(status, answered),
        onResponseData(controller, piece) {
          if (response.write(piece)) return
          controller.pause()
          response.once('drain', () => controller.resume())
        },
        onResponseEnd: over,
        onResponseError: over,
      },
    )
  })
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
answerMemory()
process.once('disconnect', () => process.exit())
