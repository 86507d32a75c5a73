import type { NodeCredentials } from '../api/admin/schemas.ts'
import type { EventName, MessageOf } from '../api/bus/subjects.ts'
import { connectBus, type Bus } from '../bus/bus.ts'
import type { BusAddress } from '../bus/connect.ts'
import type { Logger } from '../platform/log.ts'
import type { Link } from './membership.ts'

export interface NodeBusDeps {
  seed: string
  log: Logger
  /** Answers the commands that come over a new connection. */
  obey: (bus: Bus, nodeId: string) => void
  /** There is a connection (again). */
  onConnected: () => void
  /** Stronger than what the credentials say: an external bus, reached as this process was told. */
  address?: BusAddress | undefined
  connect?: typeof connectBus
}

/** A node's connection to the bus, which may move to another address or get another JWT without anybody noticing. */
export class NodeBus implements Link {
  readonly #deps: NodeBusDeps
  #current: { bus: Bus; nodeId: string; url: string } | undefined
  #jwt: string | null = null
  #disposed = false

  constructor(deps: NodeBusDeps) {
    this.#deps = deps
  }

  async use(nodeId: string, { bus_url: url, bus_jwt: jwt }: NodeCredentials): Promise<void> {
    // Asked for at every connect, so a new one is in force from the next one on: at the latest when the old one ends.
    this.#jwt = jwt
    const before = this.#current
    if (before?.url === url && !before.bus.isRefused()) return
    const { log, obey, onConnected, connect = connectBus } = this.#deps
    const bus = await connect({ address: this.#address(url), role: 'node', clientId: nodeId, log })
    if (this.#disposed) return bus.dispose()
    obey(bus, nodeId)
    bus.onReconnect(onConnected)
    this.#current = { bus, nodeId, url }
    await before?.bus.dispose()
    onConnected()
  }

  publish<N extends EventName>(name: N, message: MessageOf<N>): void {
    this.#current?.bus.publish(name, message, this.#current.nodeId)
  }

  isConnected(): boolean {
    return this.#current?.bus.isConnected() ?? false
  }

  isRefused(): boolean {
    return this.#current?.bus.isRefused() ?? false
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    await this.#current?.bus.dispose()
  }

  #address(url: string): BusAddress {
    if (this.#deps.address) return this.#deps.address
    const { seed } = this.#deps
    return this.#jwt === null ? { url, seed } : { url, seed, jwt: () => this.#jwt ?? '' }
  }
}
