import type { Socket } from 'node:net'
import type { Address } from '../../platform/address.ts'
import { dial } from '../upstream/dial.ts'
import { Scratch } from '../upstream/read-buffer.ts'
import type { UpstreamTls } from '../../platform/tls/client-tls.ts'
import { Cable } from './mux.ts'
import { AGREED, cableRequest } from './handshake.ts'
import type { Strand } from './mux-stream.ts'

const AGREE_WITHIN_MS = 5000
/** One that could not be had is not asked for again for so long; one that was had and lost, sooner. */
const AGAIN_AFTER_MS = 30_000
const AGAIN_AFTER_LOSS_MS = 1000
const PROBE_AFTER_MS = 30_000

/** All cables are read into here, one after another. */
const READ = new Scratch()

/**
 * The cable to one server, which is laid in the background: until it is there, and when it is lost, in doubt or refused,
 * requests have connections of their own.
 */
export class CableTo {
  readonly #address: Address
  #cable: Cable | undefined
  #socket: Socket | undefined
  /** Of the certificate that the server has shown. */
  #fingerprint: string | undefined
  #againAtMs = 0

  constructor(address: Address) {
    this.#address = address
  }

  get isWell(): boolean {
    return this.#cable?.isWell === true
  }

  /** A strand of it, if there is one, to whom this is the certificate. */
  open(fingerprint: string | undefined): Strand | undefined {
    return this.isWell && this.#fingerprint === fingerprint ? this.#cable!.open() : undefined
  }

  /** Asks for one, unless there is one or was none a moment ago. The server knows us by `lines` of a head. */
  lay(lines: string, tls: UpstreamTls | undefined): void {
    if (this.#socket && this.#fingerprint !== tls?.fingerprint) this.destroy()
    const nowMs = performance.now()
    if (this.#socket || nowMs < this.#againAtMs) return
    this.#againAtMs = nowMs + AGAIN_AFTER_MS
    this.#fingerprint = tls?.fingerprint
    let take = (bytes: Buffer): void => hear(bytes)
    const callback = (length: number): boolean => {
      take(READ.first(length))
      return true
    }
    const socket = dial(this.#address, tls, { buffer: READ.all, callback })
    this.#socket = socket
    const late = setTimeout(() => socket.destroy(), AGREE_WITHIN_MS)
    let heard = ''
    const hear = (bytes: Buffer): void => {
      heard += bytes.toString('latin1')
      if (!AGREED.startsWith(heard.slice(0, AGREED.length))) return void socket.destroy()
      if (heard.length < AGREED.length) return
      clearTimeout(late)
      const cable = this.#begin(socket)
      take = (more) => cable.take(more)
      if (heard.length > AGREED.length) cable.take(Buffer.from(heard.slice(AGREED.length), 'latin1'))
    }
    socket.on('error', () => {})
    socket.once('close', () => {
      clearTimeout(late)
      if (this.#socket === socket) this.#socket = undefined
    })
    socket.setKeepAlive(true, PROBE_AFTER_MS)
    socket.write(cableRequest(lines), 'latin1')
  }

  destroy(): void {
    // Nothing is written where there is nothing: to all that has read it, it stays what it always was, and compiled so.
    if (!this.#socket) return
    this.#socket.destroy()
    this.#socket = undefined
    this.#cable = undefined
  }

  #begin(socket: Socket): Cable {
    const onGone = (): void => {
      this.#againAtMs = performance.now() + AGAIN_AFTER_LOSS_MS
      if (this.#cable === cable) this.#cable = undefined
    }
    const cable: Cable = new Cable(socket, { onGone })
    this.#cable = cable
    return cable
  }
}
