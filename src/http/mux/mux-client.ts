import type { Socket } from 'node:net'
import type { Address } from '../../platform/address.ts'
import { dial } from '../upstream/dial.ts'
import { Scratch } from '../upstream/read-buffer.ts'
import type { UpstreamTls } from '../../platform/tls/client-tls.ts'
import { Cable } from './mux.ts'
import { AGREED, cableRequest } from './handshake.ts'
import type { Strand } from './mux-stream.ts'

const AGREE_WITHIN_MS = 5000
/** How long to wait before the next try, after a failed upgrade, and after the loss of a mux. */
const AGAIN_AFTER_MS = 30_000
const AGAIN_AFTER_LOSS_MS = 1000
const PROBE_AFTER_MS = 30_000

/** The read buffer of all muxes. */
const READ = new Scratch()

/**
 * The mux (`Cable`) to one server, opened in the background. Requests use connections of their own until it is open, and
 * while it is lost, in doubt or refused.
 */
export class CableTo {
  readonly #address: Address
  #cable: Cable | undefined
  #socket: Socket | undefined
  /** The fingerprint of the server's certificate. */
  #fingerprint: string | undefined
  #againAtMs = 0

  constructor(address: Address) {
    this.#address = address
  }

  get isWell(): boolean {
    return this.#cable?.isWell === true
  }

  /** A new stream, if there is a mux to the server with this certificate. */
  open(fingerprint: string | undefined): Strand | undefined {
    return this.isWell && this.#fingerprint === fingerprint ? this.#cable!.open() : undefined
  }

  /** Opens the mux, unless there is one or the last try was a moment ago. The header `lines` identify this client. */
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
    // Without a socket no field is written, because a write to a never-changed field would discard compiled code.
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
