import type { Socket } from 'node:net'
import { AppError } from '../../platform/errors.ts'
import { answerOnSocket } from './socket-answer.ts'
import type { TlsUpgrade } from '../../platform/tls/tls-upgrade.ts'

export interface SecuredOptions {
  /** Undefined while connections stay unencrypted. */
  upgrade: () => TlsUpgrade | undefined
  /** Which clients may also connect without TLS. By default none. */
  mayBePlain?: (socket: Socket) => boolean
}

export interface SecuredConnections {
  /** Calls back with the encrypted connection. A connection whose handshake fails is closed. */
  take(socket: Socket, onReady: (ready: Socket) => void): void
  /** Closes connections that are not ready yet. */
  dispose(): void
}

/** The first byte of a TLS handshake; no HTTP request begins with it. */
const HANDSHAKE = 0x16

/** Starts TLS on connections that begin a handshake, and answers plain HTTP with an error that names https://. */
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
  return new AppError(
    'bad_request',
    'This port speaks HTTPS, but the request came as plain HTTP: use https:// in the address.',
  )
}

/** Finds the first byte and puts it back. Undefined when none comes in time, or none will come. */
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
