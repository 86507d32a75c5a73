import type { Socket } from 'node:net'

/** Who wants to know that a client has gone. */
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
 * Goes once, for all requests on its connection: a listener or a signal for each would cost more than its request. The
 * connection is looked at and not a response, which is not told when it still waits for an earlier one to end.
 */
export class Client {
  readonly #gone = new AbortController()
  /** Few, and mostly one. Not a set: those keep what was deleted for a while, and with it all of a request. */
  #watchers: ClientWatcher[] = []

  constructor(socket: Socket) {
    if (socket.destroyed) this.#gone.abort()
    else socket.once('close', () => this.#leave())
  }

  /** Aborted when it has gone. Who listens stops listening by himself: the next request has the same signal. */
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
