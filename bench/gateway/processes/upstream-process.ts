import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { ANSWER, EVENT, EVENTS_PER_STREAM, PACE_MS, PACED_EVENTS, UPSTREAMS } from '../messages.ts'

/**
 * All upstreams, each on a port of its own. They speak just enough HTTP on bare sockets, since with a real HTTP server
 * the upstream and not the proxy would be what is measured.
 */
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type:'
const JSON_ANSWER = Buffer.from(`${HEAD} application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`)
const STREAM_HEAD = Buffer.from(`${HEAD} text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n`)
const EVENT_CHUNK = Buffer.from(`${EVENT.length.toString(16)}\r\n${EVENT}\r\n`)
const STREAM_END = Buffer.from('e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n')

const ports: number[] = []
for (let i = 0; i < UPSTREAMS; i += 1) {
  const server = createServer({ noDelay: true }, serve).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ports.push((server.address() as AddressInfo).port)
}
process.send?.({ ports })
process.once('disconnect', () => process.exit())

function serve(socket: Socket): void {
  let pending = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    pending += chunk.toString('latin1')
    for (let end = endOfRequest(pending); end > 0; end = endOfRequest(pending)) {
      answer(socket, pending.slice(0, end))
      pending = pending.slice(end)
    }
  })
}

/** Where the first whole request in the text ends; 0 when there is none yet. */
function endOfRequest(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n') + 4
  if (headEnd < 4) return 0
  const length = /^content-length: *(\d+)/im.exec(text)
  if (length) return text.length >= headEnd + Number(length[1]) ? headEnd + Number(length[1]) : 0
  if (!/^transfer-encoding: *chunked/im.test(text)) return headEnd
  const lastChunk = text.indexOf('\r\n0\r\n\r\n', headEnd)
  return lastChunk < 0 ? 0 : lastChunk + 7
}

function answer(socket: Socket, request: string): void {
  if (!request.includes('"stream":true')) return void socket.write(JSON_ANSWER)
  socket.write(STREAM_HEAD)
  if (request.includes('"user":"hold"')) socket.write(EVENT_CHUNK)
  else if (request.includes('"user":"paced"')) pace(socket)
  else stream(socket, EVENTS_PER_STREAM)
}

/** One event a turn of the event loop, as tokens come one by one, and no faster than they are taken. */
function stream(socket: Socket, left: number): void {
  if (socket.destroyed) return
  if (left === 0) return void socket.write(STREAM_END)
  if (socket.write(EVENT_CHUNK)) setImmediate(stream, socket, left - 1)
  else socket.once('drain', () => stream(socket, left - 1))
}

/** Each at a pace of its own: streams that began at different moments say nothing at the same moment. */
function pace(socket: Socket): void {
  let left = PACED_EVENTS
  const timer = setInterval(() => {
    left -= 1
    socket.write(left > 0 ? EVENT_CHUNK : STREAM_END)
    if (left === 0 || socket.destroyed) clearInterval(timer)
  }, PACE_MS)
}
