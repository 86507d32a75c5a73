import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Bus } from '../../bus/bus.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { CertificatePair } from '../../platform/tls/certificate-pair.ts'
import { ClientTls } from '../../platform/tls/client-tls.ts'
import { writeWhole } from '../../platform/write-whole.ts'

export interface DataCertificateDeps {
  bus: Pick<Bus, 'request'>
  clock: Clock
  /** Keeps the certificate (mode 0600), so that the gateway reaches data ports after a start without control. */
  file: string | undefined
}

const TIMEOUT_MS = 2000
const DAY_MS = 86_400_000
/** Renewed when fewer than 60 of its 90 days are left. */
const RENEW_LEFT_MS = 60 * DAY_MS

const kept = z.object({ cert: z.string(), key: z.string() })

/** This gateway's client certificate for data ports. The gateway makes and keeps the key; control signs the certificate. */
export class DataCertificate {
  readonly client = new ClientTls()
  readonly #deps: DataCertificateDeps
  #endsMs = 0
  /** From an earlier run, or from before a reconnect. */
  #isOld = true

  constructor(deps: DataCertificateDeps) {
    this.#deps = deps
    const found = deps.file === undefined ? undefined : read(deps.file)
    if (found) this.#use(found)
  }

  get isDue(): boolean {
    return this.#isOld || this.#endsMs - this.#deps.clock.nowMs() < RENEW_LEFT_MS
  }

  /** Control was away and may have another CA now: the certificate is renewed, and used until then. */
  expire(): void {
    this.#isOld = true
  }

  /** Rejects when control does not answer; a control of an older release does not. */
  async renew(): Promise<void> {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const asked = { public_key: publicKey.export({ type: 'spki', format: 'pem' }) as string }
    const { certificate } = await this.#deps.bus.request('dataCertificate', asked, { timeoutMs: TIMEOUT_MS })
    const pair = { cert: certificate, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string }
    this.#use(pair)
    this.#isOld = false
    if (this.#deps.file !== undefined) keep(this.#deps.file, pair)
  }

  #use(pair: CertificatePair): void {
    this.client.show(pair)
    this.#endsMs = new Date(new X509Certificate(pair.cert).validTo).getTime()
  }
}

function read(file: string): CertificatePair | undefined {
  try {
    return kept.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}

function keep(file: string, pair: CertificatePair): void {
  try {
    writeWhole(file, `${JSON.stringify(pair)}\n`)
  } catch {
    // The disk may be full. The gateway works without the file, and asks control again after a restart.
  }
}
