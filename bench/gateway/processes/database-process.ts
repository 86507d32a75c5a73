import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostAndPort } from '../../../src/platform/address.ts'
import { Agent, createServer, request as httpRequest } from '../../../src/http/server/node-http.ts'
import { answerMemory } from '../../worker/memory.ts'
import { begin, connectTo, createTables, end, giveBack, pick, pickAtOnce, type Picked } from './database.ts'

/** A gateway of node:http that asks PostgreSQL where each request goes, in one statement or in a dozen. */
const [statements, url, ...ports] = process.argv.slice(2)
const isOne = statements === 'one'
const sql = connectTo(url!)
await createTables(
  sql,
  ports.map((port) => `127.0.0.1:${port}`),
)
/** Of the one statement, by replica. */
let ended = new Map<number, number>()
if (isOne) giveBackNowAndThen()
const agent = new Agent({ keepAlive: true })
const server = createServer((request, response) => {
  // What a database refuses now and then is a request that failed, and counted as one.
  serve(request, response).catch(() => void (response.headersSent ? response.destroy() : response.writeHead(500).end()))
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
answerMemory()
process.once('disconnect', () => process.exit())

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await bodyOf(request)
  const { model } = JSON.parse(body.toString()) as { model: string }
  const picked = await (isOne ? pickAtOnce(sql, model) : pick(sql, model))
  if (!picked) return void response.writeHead(503).end()
  if (!isOne) await begin(sql, picked)
  await forward(request, response, picked, body)
  if (isOne) ended.set(picked.id, (ended.get(picked.id) ?? 0) + 1)
  else await end(sql, picked)
}

/** As often as a gateway of ours tells the others what it has in flight. */
function giveBackNowAndThen(): void {
  setInterval(() => {
    const all = ended
    ended = new Map()
    if (all.size > 0) giveBack(sql, all).catch(complain)
  }, 200)
}

function complain(error: unknown): void {
  console.error('what has ended was not given back:', error)
}

function bodyOf(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece)).on('end', () => resolve(Buffer.concat(pieces)))
  })
}

function forward(request: IncomingMessage, response: ServerResponse, { address }: Picked, body: Buffer): Promise<void> {
  const { host: _host, connection: _connection, ...headers } = request.headers
  return new Promise((resolve) => {
    const options = { agent, ...hostAndPort(address)!, method: 'POST', path: request.url!, headers }
    const outgoing = httpRequest(options, (answer) => {
      const { connection: _kept, 'transfer-encoding': _coding, ...answered } = answer.headers
      response.writeHead(answer.statusCode!, answered)
      answer.pipe(response).once('finish', resolve)
    })
    outgoing.once('error', () => {
      response.destroy()
      resolve()
    })
    outgoing.end(body)
  })
}
