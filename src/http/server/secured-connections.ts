import type { Socket } from 'node:net'
import { AppError } from '../../platform/errors.ts'
import { answerOnSocket } from './socket-answer.ts'
import type { TlsUpgrade } from '../../platform/tls/tls-upgrade.ts'

export interface SecuredOptions {
  /** None while connections are to stay as they are. */
  upgrade: () => TlsUpgrade | undefined
  /** Whose plain connections are taken as well. By default nobody's. */
  mayBePlain?: (socket: Socket) => boolean
}

export interface SecuredConnections {
  /** Calls back with the encrypted connection. One that comes to nothing is ended here. */
  take(socket: Socket, onReady: (ready: Socket) => void): void
  /** Ends those that are not ready yet. */
  dispose(): void
}

/** The first byte of a TLS handshake; no word of HTTP begins with it. */
const HANDSHAKE = 0x16

/** Encrypts connections that ask for it, and tells those that speak plain HTTP what they have come to. */
export function securedConnections(
  { upgrade, mayBePlain = () => false }: SecuredOptions,
  withinMs: number,
): SecuredConnections {
  const waiting = new Set<Socket>()

  function take(socket: Socket, onReady: (ready: Socket) => void): void {
    const tls = upgrade()
    if (!tls) return onReady(socket)
    waiting.add(socket)
    whenFirstByte(socket, withinMs, (byte) => {
      waiting.delete(socket)
      if (byte === HANDSHAKE) return tls.start(socket, onReady, () => {})
      if (byte === undefined) return void socket.destroy()
      if (!mayBePlain(socket)) return answerOnSocket(socket, isHttps())
      onReady(socket)
      socket.resume()
    })
  }

  return {
    take,
    dispose() {
      upgrade()?.dispose()
      for (const socket of waiting) socket.destroy()
    },
  }
}

function isHttps(): AppError {
  return new AppError('bad_request', 'This is HTTPS, and the request came as plain HTTP: use https:// in the address.')
}

/** Puts back what has come. Undefined when nothing has, and nothing will. */
function whenFirstByte(socket: Socket, withinMs: number, found: (byte: number | undefined) => void): void {
  const over = (byte: number | undefined): void => {
    clearTimeout(late)
    socket.off('data', onData).off('end', onNothing).off('close', onNothing)
    found(byte)
  }
  const onData = (bytes: Buffer): void => {
    socket.pause()
    socket.unshift(bytes)
    over(bytes[0])
  }
  const onNothing = (): void => over(undefined)
  const late = setTimeout(onNothing, withinMs)
  late.unref()
  socket.on('error', () => {})
  socket.on('data', onData).once('end', onNothing).once('close', onNothing)
}
