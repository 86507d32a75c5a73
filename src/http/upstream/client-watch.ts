import type { Socket } from 'node:net'

/** Is told when a client disconnects. */
export interface ClientWatcher {
  onClientGone(): void
}

const clients = new WeakMap<Socket, Client>()

/** The client at the other end of a connection. */
export function clientOf(socket: Socket): Client {
  const known = clients.get(socket)
  if (known) return known
  const client = new Client(socket)
  clients.set(socket, client)
  return client
}

/**
 * One client connection, with one listener for all its requests: a listener or a signal for each would cost more than the
 * request. It watches the connection, because a response that waits for an earlier one gets no event.
 */
export class Client {
  readonly #gone = new AbortController()
  /** Few, and mostly one. Not a Set, which keeps deleted entries for a while, and with them whole requests. */
  #watchers: ClientWatcher[] = []

  constructor(socket: Socket) {
    if (socket.destroyed) this.#gone.abort()
    else socket.once('close', () => this.#leave())
  }

  /** Aborted when the client disconnects. Listeners must remove themselves: the next request has the same signal. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  watch(watcher: ClientWatcher): void {
    this.#watchers.push(watcher)
  }

  unwatch(watcher: ClientWatcher): void {
    const at = this.#watchers.indexOf(watcher)
    if (at !== -1) this.#watchers.splice(at, 1)
  }

  #leave(): void {
    this.#gone.abort()
    const watchers = this.#watchers
    this.#watchers = []
    for (const watcher of watchers) watcher.onClientGone()
  }
}
