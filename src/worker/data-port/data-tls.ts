import { createPublicKey } from 'node:crypto'
import type { Socket } from 'node:net'
import { isLoopback, type Address } from '../../platform/address.ts'
import { fingerprintOf, makeCertificate } from '../../platform/tls/certificate.ts'
import type { CertificatePair } from '../../platform/tls/certificate-pair.ts'
import { derivedKey } from '../../platform/tls/derived-key.ts'
import { TlsUpgrade } from '../../platform/tls/tls-upgrade.ts'
import { KeptKey } from '../membership/kept-key.ts'

export type DataTlsMode = 'on' | 'off' | 'auto'

const HANDSHAKE_MS = 10_000

/** Whether a worker's data port is encrypted. Default: yes, if it can be reached from beyond this machine. */
export function isDataTlsWanted(mode: DataTlsMode, listen: Address, advertise: Address | undefined): boolean {
  if (mode !== 'auto') return mode === 'on'
  return !isLoopback(listen.host) || (advertise !== undefined && !isLoopback(advertise.host))
}

/**
 * Mutual TLS of the data port: gateways verify this node by its certificate, and the node verifies them by the
 * cluster's CA. The CA arrives with the credentials; until then, and with a frontend too old to send one, the port is
 * plain.
 */
export class DataTls {
  readonly fingerprint: string
  readonly #pair: CertificatePair
  readonly #isStrict: boolean
  readonly #ca: KeptKey
  #upgrade: TlsUpgrade | undefined

  /** `file` keeps the CA over restarts, like the data key. */
  constructor(seed: string, mode: DataTlsMode, file: string) {
    this.#pair = nodeCertificate(seed)
    this.fingerprint = fingerprintOf(this.#pair.cert)
    this.#isStrict = mode === 'on'
    this.#ca = new KeptKey(file)
    if (this.#ca.key !== undefined) this.#open(this.#ca.key)
  }

  get upgrade(): TlsUpgrade | undefined {
    return this.#upgrade
  }

  /**
   * Processes on this machine may ask for the worker's health without a certificate; those bytes never leave the
   * machine.
   */
  mayBePlain(socket: Socket): boolean {
    return !this.#isStrict && isLoopback(socket.remoteAddress ?? '')
  }

  /** Takes the CA from the credentials. False when encryption is required and there is no CA. */
  use(ca: string | null | undefined): boolean {
    if (!ca) return !this.#isStrict
    if (ca.trim() === this.#ca.key) return true
    this.#ca.keep(ca.trim())
    this.#open(ca.trim())
    return true
  }

  forget(): void {
    this.#ca.forget()
  }

  #open(ca: string): void {
    this.#upgrade = new TlsUpgrade({ ...this.#pair, ca }, HANDSHAKE_MS)
  }
}

/** Derived from the node's key: the same after a restart, a different one when the key changes. */
function nodeCertificate(seed: string): CertificatePair {
  const key = derivedKey(seed, 'data port')
  const name = 'flotilla node'
  const facts = {
    name,
    publicKey: createPublicKey(key),
    use: 'server' as const,
    notBeforeMs: Date.UTC(2025, 0, 1),
    notAfterMs: Date.UTC(9999, 11, 31),
    serial: Buffer.of(1),
  }
  return { cert: makeCertificate(facts, { name, key }), key: key.export({ type: 'pkcs8', format: 'pem' }) as string }
}
