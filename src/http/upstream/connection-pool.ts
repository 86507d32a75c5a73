import type { Address } from '../../platform/address.ts'
import { CableTo } from '../mux/mux-client.ts'
import type { UpstreamTls } from '../../platform/tls/client-tls.ts'
import { UpstreamConnection } from './upstream-connection.ts'

export interface PoolOptions {
  /** Less than the servers' own idle limit, so that mostly the pool closes an idle connection, not the server. */
  idleMs?: number
  /** Whether to keep a connection after a chunked answer: some servers close it then, even after `keep-alive`. */
  keepsAfterChunks?: boolean
}

/** Per upstream. */
const MOST_IDLE = 256
const IDLE_MS = 30_000
const LOOK_EVERY_MS = 5000

/** One upstream's connections. The entry goes with the last of them. */
interface Place {
  readonly host: string
  readonly port: number
  readonly idle: UpstreamConnection[]
  readonly cable: CableTo
  /** How many connections there are, idle or not. */
  open: number
}

/** An upstream and, where it offers a mux, the header lines that identify this client to it. */
export interface PooledAddress extends Address {
  cableLines?: string | undefined
}

/** Connections to upstreams, kept for later requests. Where there is a mux, they are streams of it. */
export class ConnectionPool {
  /** By host, then port: joining them into one key for every request would cost more than two lookups. */
  readonly #places = new Map<string, Map<number, Place>>()
  readonly #all = new Set<UpstreamConnection>()
  readonly #idleMs: number
  readonly #keepsAfterChunks: boolean
  // One timer checks all connections: one for each, set and cleared with every request, would cost more than the request.
  readonly #look = setInterval(() => this.#dropUnused(), LOOK_EVERY_MS).unref()

  constructor({ idleMs = IDLE_MS, keepsAfterChunks = true }: PoolOptions = {}) {
    this.#idleMs = idleMs
    this.#keepsAfterChunks = keepsAfterChunks
  }

  /** The connection used last, so that the others expire when there is less load; or a new one. */
  take({ host, port, cableLines }: PooledAddress, tls?: UpstreamTls): UpstreamConnection {
    const place = this.#places.get(host)?.get(port) ?? this.#newPlace(host, port)
    const nowMs = performance.now()
    const isLaid = place.cable.isWell
    for (let kept = place.idle.pop(); kept; kept = place.idle.pop()) {
      // With a mux, other connections to the same upstream are not needed.
      const isSame = kept.fingerprint === tls?.fingerprint && kept.isStrand === isLaid
      if (isSame && kept.isUsable && nowMs - kept.idleSinceMs < this.#idleMs) {
        kept.takenAtMs = nowMs
        return kept
      }
      kept.destroy()
    }
    // A node that gets one request at a time needs no mux.
    if (cableLines !== undefined && place.open > 0) place.cable.lay(cableLines, tls)
    const connection = new UpstreamConnection(
      place.cable.open(tls?.fingerprint) ?? place,
      tls,
      (free) => this.#keep(place, free),
      (gone) => this.#forget(place, gone),
    )
    place.open += 1
    this.#all.add(connection)
    return connection
  }

  destroy(): void {
    clearInterval(this.#look)
    for (const connection of this.#all) connection.destroy()
    for (const ports of this.#places.values()) for (const { cable } of ports.values()) cable.destroy()
  }

  #newPlace(host: string, port: number): Place {
    const place = { host, port, idle: [], cable: new CableTo({ host, port }), open: 0 }
    const ports = this.#places.get(host) ?? new Map<number, Place>()
    this.#places.set(host, ports.set(port, place))
    return place
  }

  #keep({ idle }: Place, connection: UpstreamConnection): void {
    const isKept = idle.length < MOST_IDLE && (this.#keepsAfterChunks || !connection.wasChunked)
    if (!isKept) return connection.destroy()
    connection.idleSinceMs = performance.now()
    idle.push(connection)
  }

  #forget(place: Place, connection: UpstreamConnection): void {
    const { host, port, idle } = place
    this.#all.delete(connection)
    const at = idle.indexOf(connection)
    if (at !== -1) idle.splice(at, 1)
    place.open -= 1
    if (place.open > 0) return
    place.cable.destroy()
    const ports = this.#places.get(host)
    ports?.delete(port)
    if (ports?.size === 0) this.#places.delete(host)
  }

  #dropUnused(): void {
    const nowMs = performance.now()
    for (const ports of this.#places.values()) {
      for (const { idle } of ports.values()) {
        // The connection that has been idle longest comes first.
        const old = idle.findIndex(({ idleSinceMs }) => nowMs - idleSinceMs < this.#idleMs)
        for (const connection of idle.splice(0, old === -1 ? idle.length : old)) connection.destroy()
      }
    }
  }
}
