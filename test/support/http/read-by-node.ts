import { Duplex } from 'node:stream'
import { createServer } from '../../../src/http/server/node-http.ts'
import { wholeOf, type BegunRequest, type ReadRequest } from './read-by-wire.ts'

export interface ReadByNode {
  /** Those that were read whole. */
  requests: ReadRequest[]
  /** What came after them is none. */
  isRefused: boolean
}

/** Lets node:http's own parser (llhttp) read these bytes, as strictly as our servers have it. */
export async function readByNode(bytes: Buffer): Promise<ReadByNode> {
  const read: ReadByNode = { requests: [], isRefused: false }
  const begun: BegunRequest[] = []
  const server = createServer({ maxHeaderSize: 16_384, requireHostHeader: false }, (request, response) => {
    const { method = '', url = '', rawHeaders } = request
    const seen = { method, url, rawHeaders, body: '', isWhole: false }
    begun.push(seen)
    request.on('error', () => {})
    request.on('data', (piece: Buffer) => void (seen.body += piece.toString('latin1')))
    request.once('end', () => {
      seen.isWhole = true
      response.end('ok')
    })
  })
  server.on('clientError', () => void (read.isRefused = true))
  // Without a listener for it, a wish to switch is passed over and the request is as any other.
  const socket = new Duplex({ read() {}, write: (_piece, _coding, done) => done() })
  socket.on('error', () => {})
  server.emit('connection', socket)
  socket.push(bytes)
  for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve))
  socket.destroy()
  read.requests = wholeOf(begun)
  return read
}
