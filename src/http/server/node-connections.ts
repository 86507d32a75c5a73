import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { afterLastWord } from './close-grace.ts'

interface Kept {
  /** The answers that the client waits for, in order. */
  readonly open: Set<ServerResponse>
  /** Bytes read when its last answer ended. Bytes after those belong to the next request. */
  answeredBytes: number
}

/**
 * The connections that node:http reads. When the server closes, they end as those of the fast server do: with an answer
 * that says `Connection: close`, or after a moment of being idle. node:http itself closes idle connections at once, which
 * cuts off requests on their way.
 */
export class NodeConnections {
  readonly #kept = new Map<Socket, Kept>()
  /** Connections that were upgraded; they end with their new protocol. */
  readonly #switched = new Set<Socket>()
  #isClosing = false

  take(socket: Socket): void {
    const kept: Kept = { open: new Set(), answeredBytes: 0 }
    this.#kept.set(socket, kept)
    socket.once('close', () => this.#kept.delete(socket))
    if (this.#isClosing) this.#hearOut(socket, kept)
  }

  /** The answers that the client of this connection waits for, in order. */
  openOn(socket: Socket): ReadonlySet<ServerResponse> {
    return this.#kept.get(socket)?.open ?? NONE
  }

  begin(socket: Socket, response: ServerResponse): void {
    const kept = this.#kept.get(socket)
    if (!kept) return
    kept.open.add(response)
    if (this.#isClosing) sayLast(kept)
    response.once('close', () => {
      kept.open.delete(response)
      kept.answeredBytes = socket.bytesRead
      if (this.#isClosing) this.#hearOut(socket, kept)
    })
  }

  switch(socket: Socket): void {
    this.#kept.delete(socket)
    this.#switched.add(socket)
    socket.once('close', () => this.#switched.delete(socket))
  }

  close(): void {
    this.#isClosing = true
    for (const [socket, kept] of this.#kept) {
      if (kept.open.size === 0) this.#hearOut(socket, kept)
      else sayLast(kept)
    }
  }

  destroy(): void {
    for (const socket of [...this.#kept.keys(), ...this.#switched]) socket.destroy()
  }

  #hearOut(socket: Socket, kept: Kept): void {
    afterLastWord(() => {
      const isIdle = kept.open.size === 0 && socket.bytesRead === kept.answeredBytes
      if (isIdle && this.#kept.get(socket) === kept) socket.destroy()
    })
  }
}

/** Announces the close, but only when one answer is open: further ones would be lost. */
function sayLast({ open }: Kept): void {
  const [response] = open
  if (open.size === 1 && !response!.headersSent) response!.setHeader('connection', 'close')
}

const NONE: ReadonlySet<ServerResponse> = new Set()
