import type { Socket } from 'node:net'
import { afterLastWord } from '../server/close-grace.ts'
import { isShared } from '../fast/shared-reads.ts'
import { Cable } from './mux.ts'
import { AGREED } from './handshake.ts'

/** The cables of a server, whose strands are its connections as much as any. */
export class TakenCables {
  readonly #onConnection: (socket: Socket) => void
  readonly #cables = new Set<Cable>()
  #isClosing = false

  constructor(onConnection: (socket: Socket) => void) {
    this.#onConnection = onConnection
  }

  /** `head` is what has come already. */
  take(socket: Socket, head: Buffer): void {
    const cable: Cable = new Cable(socket, {
      // All that is done with a connection can be done with a strand; what else a socket has nobody uses.
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

  /** Each ends with the last of its strands. */
  close(): void {
    this.#isClosing = true
    for (const cable of this.#cables) this.#end(cable)
  }

  /** A strand may have been begun before this is heard. */
  #end(cable: Cable): void {
    cable.announceEnd()
    afterLastWord(() => cable.endWhenUnused())
  }
}
