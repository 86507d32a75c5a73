import { X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import type { Clock } from '../run/clock.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../run/log.ts'
import { startLoop } from '../run/loop.ts'
import { fingerprintOf } from './certificate.ts'
import { readPair, type CertificatePair, type PairFiles } from './certificate-pair.ts'
import { TlsUpgrade } from './tls-upgrade.ts'

/** The certificate of a listener, as it is now. */
export interface ListenerTls {
  readonly upgrade: TlsUpgrade
  readonly fingerprint: string
  /** Nobody else vouches for it: clients must be told its fingerprint. */
  readonly isSelfSigned: boolean
  /** Told when another has taken its place. */
  onReplaced(callback: () => void): void
  dispose(): Promise<void>
}

const HANDSHAKE_MS = 10_000
/** Looked at instead of watched: what renews certificates replaces links and folders, of which watchers hear nothing. */
const LOOK_EVERY_MS = 2000
const SOON_MS = 7 * 86_400_000

/** Shows a certificate that stays. */
export function fixedTls(pair: CertificatePair): ListenerTls {
  return {
    upgrade: new TlsUpgrade(pair, HANDSHAKE_MS),
    fingerprint: fingerprintOf(pair.cert),
    isSelfSigned: isSelfSigned(pair),
    onReplaced() {},
    dispose: async () => {},
  }
}

/**
 * Shows the certificate in these files, and another one from when it lies there. Connections that are open stay. A new one
 * that cannot be used is told of, and the old one goes on.
 */
export function tlsFromFiles(files: PairFiles, clock: Clock, log: Logger): ListenerTls {
  let stamp = stampOf(files)
  let pair = readPair(files)
  const upgrade = new TlsUpgrade(pair, HANDSHAKE_MS)
  const callbacks: (() => void)[] = []
  warnOfEnd(pair, clock, log)
  const loop = startLoop({
    periodMs: LOOK_EVERY_MS,
    clock,
    async turn() {
      const now = stampOf(files)
      if (now === stamp) return
      stamp = now
      const next = readPair(files)
      if (next.cert === pair.cert && next.key === pair.key) return
      upgrade.replace(next)
      pair = next
      log.info({ certificate: files.cert, fingerprint: fingerprintOf(pair.cert) }, 'tls: another certificate is in use')
      warnOfEnd(pair, clock, log)
      for (const callback of callbacks) callback()
    },
    onError: (error) =>
      log.warn({ error: messageOf(error) }, 'tls: the new certificate is not used; the old one goes on'),
  })
  return {
    upgrade,
    get fingerprint() {
      return fingerprintOf(pair.cert)
    },
    get isSelfSigned() {
      return isSelfSigned(pair)
    },
    onReplaced: (callback) => void callbacks.push(callback),
    dispose: () => loop.dispose(),
  }
}

/** Differs when a file was replaced or written. One that is not there now may be there in a moment. */
function stampOf({ cert, key }: PairFiles): string {
  return [cert, key].map(stampOfFile).join(' ')
}

function stampOfFile(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false })
  return found ? `${found.ino}.${found.mtimeMs}.${found.size}` : 'none'
}

function isSelfSigned({ cert }: CertificatePair): boolean {
  const read = new X509Certificate(cert)
  return read.issuer === read.subject && read.verify(read.publicKey)
}

function warnOfEnd({ cert }: CertificatePair, clock: Clock, log: Logger): void {
  const { validTo } = new X509Certificate(cert)
  if (new Date(validTo).getTime() - clock.nowMs() < SOON_MS)
    log.warn({ valid_to: validTo }, 'tls: the certificate ends soon, or has ended')
}
