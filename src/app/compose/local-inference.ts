import type { Config } from '../../cli/config/options.ts'
import { isLoopback } from '../../platform/address.ts'

type ListenerConfig = Pick<Config, 'local_inference' | 'listen' | 'tls' | 'tls_cert'>

/**
 * Whether programs on this machine need no key for inference and metrics. A reverse proxy on this machine looks like
 * such a program unless it identifies itself, so the default is on only where a proxy is unlikely: on loopback without
 * TLS.
 */
export function isLocalInferenceOn({ local_inference: said, listen, tls, tls_cert: cert }: ListenerConfig): boolean {
  if (said !== undefined) return said === 'on'
  return isLoopback(listen.host) && tls === 'off' && cert === undefined
}
