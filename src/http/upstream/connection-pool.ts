import type { Address } from '../../platform/address.ts'
import { CableTo } from '../mux/mux-client.ts'
import type { UpstreamTls } from '../../platform/tls/client-tls.ts'
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

/** One upstream's. It is forgotten with the last of them. */
interface Place {
  readonly host: string
  readonly port: number
  readonly idle: UpstreamConnection[]
  readonly cable: CableTo
  /** How many there are, idle or not. */
  open: number
}

/** An upstream; and, where it takes cables, the lines of a head by which it knows us. */
export interface PooledAddress extends Address {
  cableLines?: string | undefined
}

/** Connections to upstreams that are kept for later requests. Where there is a cable, they are strands of it. */
export class ConnectionPool {
  /** By host and port, in two steps: to put both into one text for every request would cost more than to look twice. */
  readonly #places = new Map<string, Map<number, Place>>()
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
  take({ host, port, cableLines }: PooledAddress, tls?: UpstreamTls): UpstreamConnection {
    const place = this.#places.get(host)?.get(port) ?? this.#newPlace(host, port)
    const nowMs = performance.now()
    const isLaid = place.cable.isWell
    for (let kept = place.idle.pop(); kept; kept = place.idle.pop()) {
      // Where there is a cable, nobody needs connections beside it.
      const isSame = kept.fingerprint === tls?.fingerprint && kept.isStrand === isLaid
      if (isSame && kept.isUsable && nowMs - kept.idleSinceMs < this.#idleMs) {
        kept.takenAtMs = nowMs
        return kept
      }
      kept.destroy()
    }
    // Nodes that are asked for one thing at a time, or for nothing, need none.
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
        // The one that was used longest ago comes first.
        const old = idle.findIndex(({ idleSinceMs }) => nowMs - idleSinceMs < this.#idleMs)
        for (const connection of idle.splice(0, old === -1 ? idle.length : old)) connection.destroy()
      }
    }
  }
}
