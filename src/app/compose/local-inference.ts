import type { Config } from '../../cli/config/options.ts'
import { isLoopback } from '../../platform/address.ts'

type ListenerConfig = Pick<Config, 'local_inference' | 'listen' | 'tls' | 'tls_cert'>

/**
 * Whether a program on this machine needs no key for inference and figures. A reverse proxy on this machine looks like
 * such a program when it does not say that it is one, so the default is on only where a proxy is unlikely: on loopback
 * without TLS, which is how a person begins.
 */
export function isLocalInferenceOn({ local_inference: said, listen, tls, tls_cert: cert }: ListenerConfig): boolean {
  if (said !== undefined) return said === 'on'
  return isLoopback(listen.host) && tls === 'off' && cert === undefined
}
