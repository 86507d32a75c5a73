import type { Address } from './address.ts'
import { UpstreamConnection } from './upstream-connection.ts'

/** Of each upstream. */
const MOST_IDLE = 256
/** Less than servers keep a connection that nobody uses, so that it is mostly we who give it up. */
const IDLE_MS = 30_000
const LOOK_EVERY_MS = 5000

/** Connections to upstreams that are kept for later requests. */
export class ConnectionPool {
  readonly #idle = new Map<string, UpstreamConnection[]>()
  readonly #all = new Set<UpstreamConnection>()
  // All are looked at now and then: a timer for each, set and cleared with every request, would cost more than its request.
  readonly #look = setInterval(() => this.#dropUnused(), LOOK_EVERY_MS).unref()

  /** The one that was used last, so that the others grow old when there is less to do; or a new one. */
  take({ host, port }: Address): UpstreamConnection {
    const key = `${host}:${port}`
    const idle = this.#idle.get(key)
    for (let kept = idle?.pop(); kept; kept = idle?.pop()) if (kept.isUsable) return kept
    const connection = new UpstreamConnection(
      { host, port },
      (free) => this.#keep(key, free),
      (gone) => this.#forget(key, gone),
    )
    this.#all.add(connection)
    return connection
  }

  destroy(): void {
    clearInterval(this.#look)
    for (const connection of this.#all) connection.destroy()
  }

  #keep(key: string, connection: UpstreamConnection): void {
    const idle = this.#idle.get(key)
    if (idle && idle.length >= MOST_IDLE) return connection.destroy()
    connection.idleSinceMs = performance.now()
    if (idle) idle.push(connection)
    else this.#idle.set(key, [connection])
  }

  #forget(key: string, connection: UpstreamConnection): void {
    this.#all.delete(connection)
    const idle = this.#idle.get(key)
    const at = idle?.indexOf(connection) ?? -1
    if (at !== -1) idle!.splice(at, 1)
    if (idle?.length === 0) this.#idle.delete(key)
  }

  #dropUnused(): void {
    const nowMs = performance.now()
    for (const idle of this.#idle.values()) {
      // The one that was used longest ago comes first.
      const old = idle.findIndex(({ idleSinceMs }) => nowMs - idleSinceMs < IDLE_MS)
      for (const connection of idle.splice(0, old === -1 ? idle.length : old)) connection.destroy()
    }
  }
}
