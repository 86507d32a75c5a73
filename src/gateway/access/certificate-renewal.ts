import { messageOf } from '../../platform/errors.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { DataCertificate } from './data-certificate.ts'

/** How often to ask control for a certificate, while there is none or it ends soon. */
const CERTIFY_EVERY_MS = 5000

/** Gets this gateway's client certificate for data ports from control, and renews it before it ends. */
export class CertificateRenewal {
  readonly #certificate: DataCertificate
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #log: Logger
  #nextMs = 0

  constructor(certificate: DataCertificate, clock: Pick<Clock, 'nowMs'>, log: Logger) {
    this.#certificate = certificate
    this.#clock = clock
    this.#log = log
  }

  /** Renews the certificate when it is due, and tries no more often than every few seconds. Never rejects. */
  async look(): Promise<void> {
    if (!this.#certificate.isDue || this.#clock.nowMs() < this.#nextMs) return
    this.#nextMs = this.#clock.nowMs() + CERTIFY_EVERY_MS
    try {
      await this.#certificate.renew()
    } catch (error) {
      // A leader of the previous release issues none, and its nodes require none.
      this.#log.debug({ error: messageOf(error) }, 'gateway: no certificate for data ports yet')
    }
  }

  /** The bus was away, and control may have another CA now: the next look renews at once. */
  expire(): void {
    this.#certificate.expire()
    this.#nextMs = 0
  }
}
