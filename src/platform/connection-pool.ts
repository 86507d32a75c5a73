import type { Address } from './address.ts'
import type { UpstreamTls } from './tls/client-tls.ts'
import { UpstreamConnection } from './upstream-connection.ts'

export interface PoolOptions {
  /** Less than the servers keep a connection that nobody uses, so that it is mostly we who give it up. */
  idleMs?: number
  /** Whether a connection is kept after an answer in chunks: some servers close it then, whatever they have said. */
  keepsAfterChunks?: boolean
}

/** Of each upstream. */
const MOST_IDLE = 256
const IDLE_MS = 30_000
const LOOK_EVERY_MS = 5000

/** Connections to upstreams that are kept for later requests. */
export class ConnectionPool {
  /** By host and port, in two steps: to put both into one text for every request would cost more than to look twice. */
  readonly #idle = new Map<string, Map<number, UpstreamConnection[]>>()
  readonly #all = new Set<UpstreamConnection>()
  readonly #idleMs: number
  readonly #keepsAfterChunks: boolean
  // All are looked at now and then: a timer for each, set and cleared with every request, would cost more than its request.
  readonly #look = setInterval(() => this.#dropUnused(), LOOK_EVERY_MS).unref()

  constructor({ idleMs = IDLE_MS, keepsAfterChunks = true }: PoolOptions = {}) {
    this.#idleMs = idleMs
    this.#keepsAfterChunks = keepsAfterChunks
  }

  /** The one that was used last, so that the others grow old when there is less to do; or a new one. */
  take({ host, port }: Address, tls?: UpstreamTls): UpstreamConnection {
    const idle = this.#idle.get(host)?.get(port)
    for (let kept = idle?.pop(); kept; kept = idle?.pop()) {
      const isSame = kept.fingerprint === tls?.fingerprint
      if (isSame && kept.isUsable && performance.now() - kept.idleSinceMs < this.#idleMs) return kept
      kept.destroy()
    }
    const connection = new UpstreamConnection(
      { host, port },
      tls,
      (free) => this.#keep(host, port, free),
      (gone) => this.#forget(host, port, gone),
    )
    this.#all.add(connection)
    return connection
  }

  destroy(): void {
    clearInterval(this.#look)
    for (const connection of this.#all) connection.destroy()
  }

  #keep(host: string, port: number, connection: UpstreamConnection): void {
    const ports = this.#idle.get(host) ?? new Map<number, UpstreamConnection[]>()
    const idle = ports.get(port) ?? []
    const isKept = idle.length < MOST_IDLE && (this.#keepsAfterChunks || !connection.wasChunked)
    if (!isKept) return connection.destroy()
    connection.idleSinceMs = performance.now()
    if (idle.push(connection) > 1) return
    ports.set(port, idle)
    this.#idle.set(host, ports)
  }

  #forget(host: string, port: number, connection: UpstreamConnection): void {
    this.#all.delete(connection)
    const ports = this.#idle.get(host)
    const idle = ports?.get(port)
    const at = idle?.indexOf(connection) ?? -1
    if (at !== -1) idle!.splice(at, 1)
    if (idle?.length === 0) ports!.delete(port)
    if (ports?.size === 0) this.#idle.delete(host)
  }

  #dropUnused(): void {
    const nowMs = performance.now()
    for (const ports of this.#idle.values()) {
      for (const idle of ports.values()) {
        // The one that was used longest ago comes first.
        const old = idle.findIndex(({ idleSinceMs }) => nowMs - idleSinceMs < this.#idleMs)
        for (const connection of idle.splice(0, old === -1 ? idle.length : old)) connection.destroy()
      }
    }
  }
}
