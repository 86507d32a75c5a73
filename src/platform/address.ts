export interface Address {
  host: string
  port: number
}

/** `host:port`, `[::1]:port`, `:port` (all interfaces) or, when there is a default port, just `host`. */
export function hostAndPort(text: string, defaultPort?: number): Address | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*))(?::(\d{1,5}))?$/.exec(text)
  if (!match) return undefined
  const port = match[3] === undefined ? defaultPort : Number(match[3])
  const host = match[1] ?? match[2] ?? ''
  if (port === undefined || port > 65_535 || (host === '' && match[3] === undefined)) return undefined
  return { host: host === '' ? '0.0.0.0' : host, port }
}

export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Where a client on this machine reaches a listener: `0.0.0.0` is no address to connect to. */
export function reachableAddress({ host, port }: Address): Address {
  if (host === '0.0.0.0') return { host: '127.0.0.1', port }
  if (host === '::') return { host: '::1', port }
  return { host, port }
}

export function isLoopback(host: string): boolean {
  if (host === '127.0.0.1') return true
  const name = host.replace(/^\[|\]$/g, '').replace(/^::ffff:/, '')
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)
}
