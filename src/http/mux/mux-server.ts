import type { Socket } from 'node:net'
import { afterLastWord } from '../server/close-grace.ts'
import { isShared } from '../fast/shared-reads.ts'
import { Cable } from './mux.ts'
import { AGREED } from './handshake.ts'

/** The muxes (`Cable`) of a server. It treats their streams like any other connections. */
export class TakenCables {
  readonly #onConnection: (socket: Socket) => void
  readonly #cables = new Set<Cable>()
  #isClosing = false

  constructor(onConnection: (socket: Socket) => void) {
    this.#onConnection = onConnection
  }

  /** `head` are bytes that have already arrived. */
  take(socket: Socket, head: Buffer): void {
    const cable: Cable = new Cable(socket, {
      // A stream has all of a socket's members that the server uses.
      onStrand: (strand) => this.#onConnection(strand as unknown as Socket),
      onGone: () => this.#cables.delete(cable),
    })
    this.#cables.add(cable)
    socket.write(AGREED, 'latin1')
    if (head.length > 0) cable.take(head)
    if (isShared(socket)) socket.onBytes = (bytes) => cable.take(bytes)
    else socket.on('data', (bytes) => cable.take(bytes))
    socket.resume()
    if (this.#isClosing) this.#end(cable)
  }

  /** Each mux ends with the last of its streams. */
  close(): void {
    this.#isClosing = true
    for (const cable of this.#cables) this.#end(cable)
  }

  /** Waits a moment, because the client may open a stream before it reads the announcement. */
  #end(cable: Cable): void {
    cable.announceEnd()
    afterLastWord(() => cable.endWhenUnused())
  }
}
