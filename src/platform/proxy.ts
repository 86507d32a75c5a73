import type { Agent, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { request as httpRequest } from './node-http.ts'
import type { Address } from './address.ts'

export interface Upstream extends Address {
  path: string
  /** Stronger than what the client sent; `undefined` takes a header away. */
  headers: Readonly<Record<string, string | undefined>>
  agent?: Agent | false
  /** Written to an event stream that broke off halfway, so that the client learns why instead of guessing. */
  lastWords?: string
  /** Answers that count as not having been reached, judged by their headers. */
  isRefusal?: (answer: IncomingMessage) => boolean
}

export type Forwarded =
  /** The upstream's answer, whatever its status, went to the client; or the client went away first. */
  | { outcome: 'answered'; status: number }
  | { outcome: 'client gone' }
  /** Nothing has reached the client yet: another upstream may be tried. */
  | { outcome: 'unreachable'; error: Error }
  /** The answer broke off halfway. The client got `lastWords`, or was cut off, so that it cannot take a part for the whole. */
  | { outcome: 'broken'; error: Error }

const CONNECT_WITHIN_MS = 5000

/** Headers that belong to one connection, not to the request. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']

/**
 * Sends one request on and streams the answer back unbuffered. `body` is sent when it was read already; otherwise the
 * request is streamed. The client's disconnect cancels the upstream request.
 */
export function forward(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: Upstream,
  body?: Buffer,
): Promise<Forwarded> {
  return new Promise((resolve) => {
    const headers: OutgoingHttpHeaders = { ...withoutHopByHop(request.headers), ...upstream.headers }
    for (const name of Object.keys(headers)) if (headers[name] === undefined) delete headers[name]
    if (body) headers['content-length'] = body.length
    else if (request.headers['transfer-encoding']) headers['transfer-encoding'] = 'chunked'
    const outgoing = httpRequest({
      host: upstream.host,
      port: upstream.port,
      path: upstream.path,
      method: request.method,
      headers,
      ...(upstream.agent === undefined ? {} : { agent: upstream.agent }),
    })
    outgoing.setNoDelay(true)
    // A machine that vanished answers nothing at all, and the kernel would try for minutes.
    const late = setTimeout(() => outgoing.destroy(new Error('no connection in time')), CONNECT_WITHIN_MS)
    outgoing.once('socket', (socket) => {
      if (!socket.connecting) clearTimeout(late)
      else socket.once('connect', () => clearTimeout(late))
    })
    outgoing.once('close', () => clearTimeout(late))

    const onClientGone = (): void => {
      if (response.writableFinished) return
      outgoing.destroy()
      resolve({ outcome: 'client gone' })
    }
    response.once('close', onClientGone)
    outgoing.once('error', (error) => {
      response.off('close', onClientGone)
      resolve({ outcome: 'unreachable', error })
    })
    outgoing.once('response', (answer) => {
      outgoing.removeAllListeners('error').on('error', () => {})
      if (upstream.isRefusal?.(answer)) {
        response.off('close', onClientGone)
        answer.resume()
        resolve({ outcome: 'unreachable', error: new Error(`refused with status ${answer.statusCode}`) })
        return
      }
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', withoutHopByHop(answer.headers))
      response.flushHeaders()
      answer.pipe(response)
      // A cut connection shows as `aborted`/`error`; a whole answer as `end`, and then the response finishes.
      answer.once('error', (error) => {
        response.off('close', onClientGone)
        endBroken(response, answer, upstream.lastWords)
        resolve({ outcome: 'broken', error })
      })
      response.once('finish', () => resolve({ outcome: 'answered', status: answer.statusCode ?? 502 }))
    })
    if (body) outgoing.end(body)
    else request.pipe(outgoing)
  })
}

function endBroken(response: ServerResponse, answer: IncomingMessage, lastWords: string | undefined): void {
  const isEventStream = answer.headers['content-type']?.startsWith('text/event-stream') ?? false
  if (isEventStream && lastWords !== undefined) response.end(lastWords)
  else response.destroy()
}

function withoutHopByHop(headers: IncomingMessage['headers']): OutgoingHttpHeaders {
  const kept: OutgoingHttpHeaders = { ...headers }
  // `Connection: x-custom` makes x-custom hop-by-hop as well.
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  for (const name of [...HOP_BY_HOP, ...named]) delete kept[name]
  return kept
}
