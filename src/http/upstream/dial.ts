import { connect, type OnReadOpts, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { Address } from '../../platform/address.ts'
import type { UpstreamTls } from '../../platform/tls/client-tls.ts'

/** Connects to an upstream; reads go into the buffer of `onread`. Writes before the connection is made wait for it. */
export function dial({ host, port }: Address, tls: UpstreamTls | undefined, onread: OnReadOpts): Socket {
  if (!tls) return connect({ host, port, noDelay: true, onread })
  return tls.client.connect({ host, port, fingerprint: tls.fingerprint }, { onread } as ConnectionOptions)
}
