import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { request as httpRequest, STATUS_CODES } from '../server/node-http.ts'
import { instead, passOn } from './forward-headers.ts'
import type { Forwarded, Upstream } from '../proxy.ts'
import { whenGone } from '../server/socket-gone.ts'

/** The upstream has this long to agree; a handshake is a few bytes. */
const AGREE_WITHIN_MS = 30_000
/** How long one side may go on sending when the other has ended. */
const END_WITHIN_MS = 1000
const PROBE_AFTER_MS = 30_000

/**
 * Forwards a WebSocket upgrade, and then the bytes of both sides, until one side ends: then both end. The upstream may also
 * decline with a plain answer, which the client gets. Resolves when both connections are done. Until the upstream has
 * answered, an abort of `givenUp` ends the attempt as if its connection had failed, with the abort's reason.
 */
export function forwardUpgrade(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  upstream: Upstream,
  givenUp?: AbortSignal,
): Promise<Forwarded> {
  return new Promise((resolve) => {
    if (socket.destroyed || socket.readableEnded) return resolve({ outcome: 'client gone' })
    const { host, port, path, tls } = upstream
    const headers = passOn(request.rawHeaders, upstream.headers)
    headers.push('connection', 'Upgrade', 'upgrade', request.headers.upgrade ?? '')
    const outgoing = httpRequest({
      host,
      port,
      path,
      method: request.method,
      headers,
      // Both ends of a WebSocket may be silent for hours: the operating system probes whether the machine is still there.
      createConnection: () => {
        const socket = tls
          ? tls.client.connect({ host, port, fingerprint: tls.fingerprint })
          : connect({ host, port, noDelay: true })
        return socket.setKeepAlive(true, PROBE_AFTER_MS)
      },
    })
    const giveUp = (why: Error): void => {
      // Before there is a connection nothing can have been sent.
      const isUnsent = outgoing.socket?.connecting !== false
      outgoing.destroy(isUnsent ? Object.assign(why, { syscall: 'connect' }) : why)
    }
    const onGivenUp = (): void => giveUp(givenUp?.reason as Error)
    const late = setTimeout(() => giveUp(new Error('no answer in time')), AGREE_WITHIN_MS)
    givenUp?.addEventListener('abort', onGivenUp, { once: true })
    let isAgreed = false
    const stopWaiting = (): void => {
      clearTimeout(late)
      givenUp?.removeEventListener('abort', onGivenUp)
      stopLooking()
    }
    const over = (result: Forwarded): void => {
      stopWaiting()
      resolve(result)
    }
    // A client that closes its side before the switch has gone: in a WebSocket it could not be just done sending.
    const onGone = (): void => {
      over({ outcome: 'client gone' })
      outgoing.destroy()
      socket.destroy()
    }
    const onNoAnswer = (error: Error): void => {
      if (!isAgreed) over({ outcome: 'unreachable', error })
    }
    const stopLooking = whenGone(socket, onGone)
    outgoing.on('error', onNoAnswer)
    outgoing.once('close', () => onNoAnswer(new Error('it closed the connection')))
    outgoing.once('response', (answer) => {
      if (upstream.isRefusal?.(answer)) {
        outgoing.destroy()
        return over({ outcome: 'refused', status: answer.statusCode ?? 502 })
      }
      isAgreed = true
      stopWaiting()
      upstream.onHeard?.()
      socket.write(headOf(answer, ['connection', 'close'], upstream))
      answer.on('error', () => socket.resetAndDestroy())
      answer.pipe(socket)
      socket.once('close', () => {
        outgoing.destroy()
        over({ outcome: 'answered', status: answer.statusCode ?? 502 })
      })
      socket.resume()
    })
    outgoing.once('upgrade', (answer, other: Socket, otherHead) => {
      isAgreed = true
      stopWaiting()
      upstream.onHeard?.()
      const switched = ['connection', 'Upgrade', 'upgrade', answer.headers.upgrade ?? 'websocket']
      socket.write(headOf(answer, switched, upstream))
      if (otherHead.length > 0) socket.write(otherHead)
      if (head.length > 0) other.write(head)
      void tie(socket, other).then(() => over({ outcome: 'answered', status: 101 }))
    })
    outgoing.end()
  })
}

function headOf(
  answer: IncomingMessage,
  connection: readonly string[],
  { answerHeaders = NOTHING_INSTEAD }: Upstream,
): string {
  const status = answer.statusCode ?? 502
  const headers = [...passOn(answer.rawHeaders, answerHeaders), ...connection]
  let lines = `HTTP/1.1 ${status} ${answer.statusMessage ?? STATUS_CODES[status] ?? ''}\r\n`
  for (let i = 0; i < headers.length; i += 2) lines += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${lines}\r\n`
}

const NOTHING_INSTEAD = instead({})

/** Connects the two sockets. When one ends or breaks, the other ends as well, after the bytes that were on their way. */
function tie(one: Socket, other: Socket): Promise<void> {
  const pair: [Socket, Socket][] = [
    [one, other],
    [other, one],
  ]
  return new Promise((resolve) => {
    let open = 2
    for (const [from, to] of pair) {
      from.on('error', () => {})
      from.setNoDelay(true)
      from.pipe(to)
      from.once('end', () => cutSoon(to))
      from.once('close', () => {
        open -= 1
        if (open === 0) return resolve()
        to.end()
        // Reads on only to notice the end; the bytes go nowhere.
        to.resume()
        cutSoon(to)
      })
    }
  })
}

function cutSoon(socket: Socket): void {
  const cut = setTimeout(() => socket.destroy(), END_WITHIN_MS)
  cut.unref()
  socket.once('close', () => clearTimeout(cut))
}
