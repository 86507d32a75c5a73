import type { IncomingMessage } from 'node:http'
import { formatAddress, hostAndPort, isLoopback, type Address } from '../../platform/address.ts'
import { AppError } from '../../platform/errors.ts'

/** The process that asks where the bus is. */
export interface Peer {
  /** Where the call comes from. */
  remoteHost: string
  /** The host under which it reached this frontend. */
  reachedAs: string
}

export function peerOf(request: IncomingMessage): Peer {
  const named = hostAndPort(request.headers.host ?? '', 80)?.host
  const host = named !== undefined && !isWildcard(named) ? named : (request.socket.localAddress ?? '')
  return { remoteHost: request.socket.remoteAddress ?? '', reachedAs: host.replace(/^::ffff:/, '') }
}

/**
 * The address of the bus for this peer. A bus on all interfaces has the host at which the peer found the frontend; one
 * on loopback cannot be reached from other machines, so they get an error at once.
 */
export function busUrlFor(peer: Peer, bus: { protocol: string; listen: Address; flag: string }): string {
  const { host, port } = bus.listen
  if (isWildcard(host)) return `${bus.protocol}//${formatAddress({ host: peer.reachedAs, port })}`
  if (isLoopback(host) && !isLoopback(peer.remoteHost)) {
    const where = `This frontend's bus is at ${formatAddress(bus.listen)}, which other machines cannot reach.`
    throw new AppError('conflict', `${where} Start the frontend with ${bus.flag}.`)
  }
  return `${bus.protocol}//${formatAddress(bus.listen)}`
}

export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}
