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
  readonly #watchers = new Set<ClientWatcher>()

  constructor(socket: Socket) {
    if (socket.destroyed) this.#gone.abort()
    else socket.once('close', () => this.#leave())
  }

  /** Aborted when it has gone. Who listens stops listening by himself: the next request has the same signal. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  watch(watcher: ClientWatcher): void {
    this.#watchers.add(watcher)
  }

  unwatch(watcher: ClientWatcher): void {
    this.#watchers.delete(watcher)
  }

  #leave(): void {
    this.#gone.abort()
    for (const watcher of this.#watchers) watcher.onClientGone()
    this.#watchers.clear()
  }
}
