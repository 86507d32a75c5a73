import type { HttpRequest } from '../exchange.ts'
import { isLoopback } from '../../platform/address.ts'

/** What `originOf` returns for a program on this machine that uses no proxy. */
export const THIS_MACHINE = 'this machine'

/**
 * Where a request comes from, for counting: a machine counts once, however many IPv6 addresses it has. Requests through a
 * proxy on this machine do not count as local; they share one count.
 */
export function originOf({ socket, headers }: Pick<HttpRequest, 'socket' | 'headers'>): string {
  const address = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '') ?? ''
  if (!isLoopback(address)) return address.includes(':') ? networkOf(address) : address
  return PROXY_HEADERS.some((name) => headers[name] !== undefined) ? 'a proxy' : THIS_MACHINE
}

export const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const

/** The /64 network, because one machine can choose from a whole /64 of IPv6 addresses. */
function networkOf(address: string): string {
  const [head = '', tail] = address.split('::')
  const groups = head.split(':')
  const missing = tail === undefined ? 0 : Math.max(0, 4 - groups.length)
  return [...groups, ...Array.from({ length: missing }, () => '0')].slice(0, 4).join(':')
}
