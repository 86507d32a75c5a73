import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer } from '../../src/http/server/node-http.ts'
import { answerMemory } from './memory.ts'
import { EVENT, EVENTS_PER_STREAM, paths, SMALL_BODY, STREAM_END } from './messages.ts'

/** The least an engine can be: what is left of a request's time is that of HTTP and of what lies between. */
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume()
  if (request.url === paths.small) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': SMALL_BODY.length })
    response.end(SMALL_BODY)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (request.url === paths.stream) stream(response, EVENTS_PER_STREAM)
  else response.write(EVENT)
})
server.on('connection', (socket) => socket.setNoDelay(true))
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
answerMemory()
process.once('disconnect', () => process.exit())

/** One write an event, as tokens come, and as fast as they are taken. */
function stream(response: ServerResponse, left: number): void {
  for (; left > 0; left -= 1) {
    if (!response.write(EVENT)) {
      response.once('drain', () => stream(response, left - 1))
      return
    }
    if (left % 50 === 0) {
      setImmediate(() => stream(response, left - 1))
      return
    }
  }
  response.end(STREAM_END)
}
