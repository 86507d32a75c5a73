import type { BusRole, EventName, MessageOf, ReplyOf, RequestName } from '../api/bus/subjects.ts'
import { AppError } from '../platform/errors.ts'
import type { Logger } from '../platform/run/log.ts'
import { connectBus, type Bus, type RequestOptions, type Responder } from './bus.ts'
import type { BusAddress, BusTls } from './connect.ts'

export interface MovingBusDeps {
  role: BusRole
  /** The client's own key, with which it authenticates. */
  seed: string
  log: Logger
  /** Stronger than what the credentials say: an external bus, reached as this process was told. */
  address?: BusAddress | undefined
  connect?: typeof connectBus
}

export interface BusCredentials {
  bus_url: string
  /** For a server with accounts. */
  bus_jwt: string | null
  /** For `tls://`: the CA that signed the bus, and the name in its certificate where that is not its host. */
  bus_ca?: string | undefined
  bus_name?: string | undefined
}

/**
 * A bus that may not be there yet, may move to another address or get another JWT; its subscribers and responders do not
 * notice. Without a connection, published messages are lost and requests fail.
 */
export class MovingBus implements Bus {
  readonly #deps: MovingBusDeps
  /** What is done to each new connection: the subscriptions there are. */
  readonly #wires: ((bus: Bus, clientId: string) => void)[] = []
  readonly #reconnected: (() => void)[] = []
  #current: { bus: Bus; clientId: string; url: string; ca: string | undefined } | undefined
  #jwt: string | null = null
  #disposed = false

  constructor(deps: MovingBusDeps) {
    this.#deps = deps
  }

  /** Connects, or takes over what is new in the credentials. Rejects when the bus cannot be had. */
  async use(clientId: string, credentials: BusCredentials): Promise<void> {
    const { bus_url: url, bus_jwt: jwt, bus_ca: ca, bus_name: name } = credentials
    // Asked for at every connect, so a new one is in force from the next one on: at the latest when the old one ends.
    this.#jwt = jwt
    const before = this.#current
    const isSame = before?.url === url && before.ca === ca && before.clientId === clientId
    if (isSame && !before.bus.isRefused()) return
    const { role, log, connect = connectBus } = this.#deps
    const bus = await connect({ address: this.#address(url, { ca, name }), role, clientId, log })
    if (this.#disposed) return bus.dispose()
    for (const wire of this.#wires) wire(bus, clientId)
    bus.onReconnect(() => this.#tellReconnected())
    this.#current = { bus, clientId, url, ca }
    await before?.bus.dispose()
    this.#tellReconnected()
  }

  /** Called for the connection there is and for each that takes its place. */
  onConnection(wire: (bus: Bus, clientId: string) => void): void {
    this.#wires.push(wire)
    if (this.#current) wire(this.#current.bus, this.#current.clientId)
  }

  publish<N extends EventName>(name: N, message: MessageOf<N>, nodeId?: string): void {
    this.#current?.bus.publish(name, message, nodeId)
  }

  subscribe<N extends EventName>(name: N, handler: (message: MessageOf<N>, nodeId: string) => void, nodeId?: string) {
    this.onConnection((bus) => bus.subscribe(name, handler, nodeId))
  }

  async request<N extends RequestName>(name: N, message: MessageOf<N>, options: RequestOptions): Promise<ReplyOf<N>> {
    if (!this.#current) throw new AppError('unavailable', `No answer on the bus to ${name}: not connected yet.`)
    return this.#current.bus.request(name, message, options)
  }

  respond<N extends RequestName>(name: N, handler: Responder<N>, nodeId?: string): void {
    this.onConnection((bus) => bus.respond(name, handler, nodeId))
  }

  /** Also told of the first connection, and of one at another address. */
  onReconnect(callback: () => void): void {
    this.#reconnected.push(callback)
  }

  isConnected(): boolean {
    return this.#current?.bus.isConnected() ?? false
  }

  isRefused(): boolean {
    return this.#current?.bus.isRefused() ?? false
  }

  /** Gives the connection up until credentials come again. */
  async leave(): Promise<void> {
    const before = this.#current
    this.#current = undefined
    await before?.bus.dispose()
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    await this.#current?.bus.dispose()
  }

  #tellReconnected(): void {
    for (const callback of this.#reconnected) callback()
  }

  #address(url: string, tls: BusTls): BusAddress {
    if (this.#deps.address) return this.#deps.address
    const { seed } = this.#deps
    return this.#jwt === null ? { url, seed, tls } : { url, seed, tls, jwt: () => this.#jwt ?? '' }
  }
}
