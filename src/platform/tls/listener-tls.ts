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
  /** No CA vouches for it: clients need its fingerprint. */
  readonly isSelfSigned: boolean
  /** Called when another certificate has replaced it. */
  onReplaced(callback: () => void): void
  dispose(): Promise<void>
}

const HANDSHAKE_MS = 10_000
/** Polled instead of watched: renewal tools replace links and folders, which file watchers miss. */
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
 * Serves the certificate in these files, and reloads it when they change. Open connections stay. A new certificate that
 * cannot be used is logged, and the old one stays in use.
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
      log.warn({ error: messageOf(error) }, 'tls: the new certificate cannot be used; the old one stays in use'),
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

/** Changes when a file was replaced or written. A missing file may appear in a moment. */
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
