import { connect, type OnReadOpts, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { Address } from '../../platform/address.ts'
import type { UpstreamTls } from '../../platform/tls/client-tls.ts'

/** A connection to an upstream that is read into a buffer of ours. What is written before there is one waits for it. */
export function dial({ host, port }: Address, tls: UpstreamTls | undefined, onread: OnReadOpts): Socket {
  if (!tls) return connect({ host, port, noDelay: true, onread })
  return tls.client.connect({ host, port, fingerprint: tls.fingerprint }, { onread } as ConnectionOptions)
}
