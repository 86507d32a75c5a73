import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Address } from './address.ts'
import type { ConnectionPool, PooledAnswer, PooledRequest } from './connection-pool.ts'
import { request as httpRequest } from './node-http.ts'

export interface Upstream extends Address {
  path: string
  /** By their names in lower case. Stronger than what the client sent; `undefined` takes a header away. */
  headers: Readonly<Record<string, string | undefined>>
  /** Keeps connections for later requests, for requests whose body was read already. Without it each has its own. */
  pool?: ConnectionPool | undefined
  /** Written to an event stream that broke off halfway, so that the client learns why instead of guessing. */
  lastWords?: () => string
  /** Answers that are none, judged by their head: nothing of them reaches the client. */
  isRefusal?: (answer: Pick<UpstreamAnswer, 'statusCode' | 'headers'>) => boolean
  /** The same as `headers`, for what the client gets. */
  answerHeaders?: Readonly<Record<string, string | undefined>>
  /** Called for the head of the answer and for every piece of its body, so it must be cheap. */
  onHeard?: () => void
}

/** What both kinds of clients give. */
type UpstreamAnswer = IncomingMessage | PooledAnswer
type UpstreamRequest = ClientRequest | PooledRequest

export type Forwarded =
  /** The upstream's answer, whatever its status, went to the client; or the client went away first. */
  | { outcome: 'answered'; status: number }
  | { outcome: 'client gone' }
  /** Nothing has reached the client yet: another upstream may be tried. */
  | { outcome: 'unreachable'; error: Error }
  | { outcome: 'refused'; status: number }
  /** The answer broke off halfway. The client got `lastWords`, or was cut off, so that it cannot take a part for the whole. */
  | { outcome: 'broken'; error: Error }

const CONNECT_WITHIN_MS = 5000
/** How long a client that has its answer already may go on sending its request. */
const REST_WITHIN_MS = 5000

/**
 * Sends one request on and streams the answer back unbuffered. `body` is sent when it was read already; otherwise the
 * request is streamed. The client's disconnect cancels the upstream request. Resolves once, when the last byte has been
 * handed to the client's connection or either side is gone.
 */
export function forward(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: Upstream,
  body?: Buffer,
): Promise<Forwarded> {
  return new Promise((resolve) => {
    const { socket } = request
    // It may have gone while its body was read or another upstream was tried, and says so only once.
    if (socket.destroyed) return resolve({ outcome: 'client gone' })
    let outgoing: UpstreamRequest
    let hasBegun = false
    let isOver = false
    const over = (result: Forwarded): void => {
      isOver = true
      socket.off('close', onClientGone)
      resolve(result)
    }
    // The connection is looked at and not the response, which is not told when it still waits for an earlier one to end.
    const onClientGone = (): void => {
      over({ outcome: 'client gone' })
      outgoing.destroy()
    }
    socket.once('close', onClientGone)
    const send = (to: Upstream): void => {
      const sent = open(request, to, body)
      outgoing = sent
      const onNoAnswer = (error: Error): void => {
        if (hasBegun || isOver || sent !== outgoing) return
        if (body && isStale(sent, error)) send({ ...to, pool: undefined })
        else over({ outcome: 'unreachable', error })
      }
      sent.on('error', onNoAnswer)
      // Without an error: it wanted to speak another protocol (101).
      sent.once('close', () => onNoAnswer(new Error('it closed the connection')))
      sent.once('response', (answer: UpstreamAnswer) => onAnswer(answer, to))
      if (body) sent.end(body)
      else if (!('onConnected' in sent) && hasBody(request)) request.pipe(sent)
      else sent.end()
    }
    const onAnswer = (answer: UpstreamAnswer, to: Upstream): void => {
      if (isOver) return
      if (to.isRefusal?.(answer)) {
        answer.resume()
        return over({ outcome: 'refused', status: answer.statusCode ?? 502 })
      }
      const problem = begin(response, answer, to.answerHeaders)
      if (problem) {
        over({ outcome: 'unreachable', error: problem })
        return void outgoing.destroy()
      }
      hasBegun = true
      to.onHeard?.()
      const isBetweenEvents = sendOn(answer, response, to.onHeard)
      if (!to.pool) answer.once('end', () => outgoing.destroy())
      answer.on('error', (error: Error) => {
        if (isOver) return
        over({ outcome: 'broken', error })
        endBroken(response, answer, to.lastWords, isBetweenEvents())
      })
      response.once('finish', () => {
        if (isOver) return
        over({ outcome: 'answered', status: answer.statusCode ?? 502 })
        if (request.complete) return
        // The upstream has said all it has to say; what it did not read of the request goes nowhere.
        outgoing.destroy()
        takeTheRest(request)
      })
    }
    send(upstream)
  })
}

/**
 * A kept connection may end in the very moment in which it is used again. Nothing of an answer has come, and its end is
 * no news of the upstream, so that one is asked once more, on a new connection.
 */
function isStale(sent: UpstreamRequest, error: NodeJS.ErrnoException): boolean {
  return sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}

/**
 * For a request that was answered before it had arrived whole: takes what still comes, for a while. A connection closed
 * on somebody who is sending can lose him the answer.
 */
export function takeTheRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.unpipe()
  request.resume()
  const cut = setTimeout(() => request.socket.destroy(), REST_WITHIN_MS)
  cut.unref()
  const stop = (): void => clearTimeout(cut)
  request.once('end', stop).once('close', stop)
}

function open(request: IncomingMessage, upstream: Upstream, body: Buffer | undefined): UpstreamRequest {
  const { host, port, path, pool } = upstream
  const headers = passOn(request.rawHeaders, { ...upstream.headers, ...framing(request, body) })
  // Also where it is not kept: one who is told "close" may hang up on a body that he does not want to read, and his answer
  // is then lost on the way.
  headers.push('connection', 'keep-alive')
  const method = request.method ?? 'GET'
  const isPooled = pool !== undefined && (body !== undefined || !hasBody(request))
  const outgoing = isPooled
    ? pool.request({ host, port, path, method, headers })
    : // Not `agent: false`, which makes an agent for each request: 3 KB for as long as it lasts.
      httpRequest({
        host,
        port,
        path,
        method,
        headers,
        createConnection: () => connect({ host, port, noDelay: true }),
      })
  if ('onConnected' in outgoing && !outgoing.connecting) return outgoing
  // A machine that vanished answers nothing at all, and the kernel would try for minutes.
  const late = setTimeout(() => outgoing.destroy(new Error('no connection in time')), CONNECT_WITHIN_MS)
  const isConnected = (): void => clearTimeout(late)
  if ('onConnected' in outgoing) outgoing.onConnected(isConnected)
  else outgoing.once('socket', (socket) => (socket.connecting ? socket.once('connect', isConnected) : isConnected()))
  outgoing.once('close', isConnected)
  return outgoing
}

/** How long the body is, as far as its sender has said. */
function framing(request: IncomingMessage, body: Buffer | undefined): Record<string, string> {
  if (body) return { 'content-length': String(body.length) }
  if (request.headers['transfer-encoding'] !== undefined) return { 'transfer-encoding': 'chunked' }
  // Other methods must say that they have none.
  const mayLackBody = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'].includes(request.method ?? '')
  return hasBody(request) || mayLackBody ? {} : { 'content-length': '0' }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined
}

/** Sends the answer's head, or says why it cannot be sent: what an upstream calls a status or a header may be none. */
function begin(
  response: ServerResponse,
  answer: UpstreamAnswer,
  instead: Upstream['answerHeaders'] = {},
): Error | undefined {
  try {
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', passOn(answer.rawHeaders, instead))
  } catch (error) {
    response.statusMessage = ''
    return error as Error
  }
  return undefined
}

/** Returns what says whether the last piece that came ended an event, if it is a stream of events. */
function sendOn(answer: UpstreamAnswer, response: ServerResponse, onHeard: (() => void) | undefined): () => boolean {
  let last: Buffer | undefined
  // By hand: a pipe would keep a dozen listeners for as long as the stream lasts.
  answer.on('data', (chunk: Buffer) => {
    clearImmediate(headAlone)
    last = chunk
    onHeard?.()
    if (!response.write(chunk)) answer.pause()
  })
  response.on('drain', () => answer.resume())
  answer.once('end', () => {
    clearImmediate(headAlone)
    response.end()
  })
  // When there is nothing yet to go with it in one write.
  const headAlone = setImmediate(() => response.flushHeaders())
  return () => last === undefined || /\n\r?\n$/.test(last.subarray(-3).toString('latin1'))
}

/** Words can be added only to events that are plain text and whose length was not told beforehand. */
function endBroken(
  response: ServerResponse,
  { headers }: UpstreamAnswer,
  lastWords: Upstream['lastWords'],
  isBetweenEvents: boolean,
): void {
  const isEventStream = headers['content-type']?.startsWith('text/event-stream') ?? false
  const isOpen = headers['content-encoding'] === undefined && headers['content-length'] === undefined
  if (!isEventStream || !isOpen || lastWords === undefined) return void response.destroy()
  // Else they would be taken for the rest of the event that broke off.
  response.end(`${isBetweenEvents ? '' : '\n\n'}${lastWords()}`)
}

/** Headers that belong to one connection, not to the request. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers as they came, several of a name and all, with `instead` in the place of those that it names. */
export function passOn(raw: readonly string[], instead: Readonly<Record<string, string | undefined>>): string[] {
  const named = namedByConnection(raw)
  const passed: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase()
    if (HOP_BY_HOP.has(name) || named.includes(name) || Object.hasOwn(instead, name)) continue
    passed.push(raw[i]!, raw[i + 1]!)
  }
  for (const [name, value] of Object.entries(instead)) if (value !== undefined) passed.push(name, value)
  return passed
}

/** `Connection: x-custom` makes x-custom hop-by-hop as well. */
function namedByConnection(raw: readonly string[]): string[] {
  const named: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i]!.toLowerCase() !== 'connection') continue
    named.push(...raw[i + 1]!.split(',').map((name) => name.trim().toLowerCase()))
  }
  return named
}
