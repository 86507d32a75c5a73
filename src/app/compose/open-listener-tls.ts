import { join } from 'node:path'
import type { Config } from '../../cli/config/options.ts'
import { isLoopback } from '../../platform/address.ts'
import { systemClock as clock } from '../../platform/run/clock.ts'
import type { Lifetime } from '../../platform/run/lifetime.ts'
import type { Logger } from '../../platform/run/log.ts'
import { fixedTls, tlsFromFiles, type ListenerTls } from '../../platform/tls/listener-tls.ts'
import { selfSignedPair } from '../../platform/tls/self-signed.ts'

type TlsConfig = Pick<Config, 'data' | 'listen' | 'tls' | 'tls_cert' | 'tls_key'>

/** The certificate of the listener, if it has one. `data` is the folder that the processes of one gateway share. */
export function openListenerTls(config: TlsConfig, log: Logger, life: Lifetime): ListenerTls | undefined {
  const tls = openTls(config, log)
  if (tls) life.own('certificate', () => tls.dispose())
  else if (!isLoopback(config.listen.host)) {
    log.warn('keys, prompts and answers are not encrypted on their way to this listener: see --tls and --tls-cert')
  }
  return tls
}

function openTls({ data, listen, tls, tls_cert: cert, tls_key: key }: TlsConfig, log: Logger): ListenerTls | undefined {
  if (cert !== undefined && key !== undefined) return tlsFromFiles({ cert, key }, clock, log)
  if (tls === 'off') return undefined
  const files = { cert: join(data, 'tls.crt'), key: join(data, 'tls.key') }
  return fixedTls(selfSignedPair(files, listen.host, clock.nowMs()))
}
