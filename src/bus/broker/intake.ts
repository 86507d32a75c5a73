import type { Clock } from '../../platform/run/clock.ts'

/** So much may be sent at once, as seconds of the rate. */
const AT_ONCE_S = 2

/**
 * What one client may send: bytes and messages a second. A client that sends more is read later, so that it loses nothing and
 * its own socket fills up, and the process has time for the others.
 */
export class Intake {
  readonly #clock: Clock
  readonly #bytesPerS: number
  readonly #messagesPerS: number
  /** Seconds of the rate that are left. */
  #leftS = AT_ONCE_S
  #atMs: number
  #cancel = (): void => {}

  constructor(clock: Clock, { bytesPerS, messagesPerS }: { bytesPerS: number; messagesPerS: number }) {
    this.#clock = clock
    this.#bytesPerS = bytesPerS
    this.#messagesPerS = messagesPerS
    this.#atMs = clock.nowMs()
  }

  /** After so much was read: pauses the source when it was too much, and lets it go on when there is room again. */
  take(bytes: number, messages: number, source: { pause(): unknown; resume(): unknown }): void {
    const nowMs = this.#clock.nowMs()
    const passedS = Math.max(0, nowMs - this.#atMs) / 1000
    this.#atMs = nowMs
    const costS = bytes / this.#bytesPerS + messages / this.#messagesPerS
    this.#leftS = Math.min(AT_ONCE_S, this.#leftS + passedS) - costS
    if (this.#leftS >= 0) return
    source.pause()
    this.#cancel()
    this.#cancel = this.#clock.after(Math.ceil(-this.#leftS * 1000), () => source.resume())
  }

  dispose(): void {
    this.#cancel()
  }
}
