import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { Address } from '../../../src/platform/address.ts'

/** `up` is what the one who connected sends, `down` what comes back. */
export type Direction = 'up' | 'down'

/**
 * The network between one process and one address. What is held waits, as packets do that are sent again and again:
 * nothing is lost, and neither end learns that the other is gone. A connection that is made meanwhile is accepted, and
 * then nothing comes of it until all is well again.
 */
export class Relay {
  readonly #target: Address
  readonly #server: Server
  readonly #wires = new Set<Wire>()
  #held: ReadonlySet<Direction> = new Set()

  private constructor(target: Address, server: Server) {
    this.#target = target
    this.#server = server
  }

  static async start(target: Address): Promise<Relay> {
    const server = createServer({ allowHalfOpen: true, noDelay: true })
    const relay = new Relay(target, server)
    server.on('connection', (client) => relay.#join(client))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return relay
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get connections(): number {
    return this.#wires.size
  }

  hold(...directions: Direction[]): void {
    this.#held = new Set(directions.length === 0 ? ['up', 'down'] : directions)
    for (const wire of this.#wires) wire.hold(this.#held)
  }

  heal(): void {
    this.#held = new Set()
    for (const wire of this.#wires) wire.hold(this.#held)
  }

  dispose(): void {
    this.#server.close()
    for (const wire of this.#wires) wire.destroy()
  }

  #join(client: Socket): void {
    const wire = new Wire(client, this.#target, () => this.#wires.delete(wire))
    this.#wires.add(wire)
    wire.hold(this.#held)
  }
}

/** One connection through a relay. */
class Wire {
  readonly #client: Socket
  readonly #target: Address
  readonly #onGone: () => void
  #server: Socket | undefined
  #held: ReadonlySet<Direction> = new Set()
  /** Ends that have said their last word, and those that are gone; the other does not know yet. */
  readonly #ended = new Set<Direction>()
  readonly #gone = new Set<Direction>()

  constructor(client: Socket, target: Address, onGone: () => void) {
    this.#client = client
    this.#target = target
    this.#onGone = onGone
    client.pause()
    client.on('error', () => {})
    client.on('end', () => this.#finish('up'))
    client.on('close', () => this.#end('up'))
  }

  hold(held: ReadonlySet<Direction>): void {
    this.#held = held
    // A handshake needs both ways.
    if (!this.#server && held.size === 0) this.#connect()
    for (const direction of ['up', 'down'] as const) {
      if (held.has(direction)) this.#sourceOf(direction)?.pause()
      else if (this.#gone.has(direction)) this.destroy()
      else if (this.#ended.has(direction)) this.#finish(direction)
      else if (this.#server) this.#sourceOf(direction)?.resume()
    }
  }

  destroy(): void {
    this.#client.destroy()
    this.#server?.destroy()
    this.#onGone()
  }

  #connect(): void {
    const { host, port } = this.#target
    const server = connect({ host, port, noDelay: true, allowHalfOpen: true })
    this.#server = server
    server.on('error', () => {})
    server.on('end', () => this.#finish('down'))
    server.on('close', () => this.#end('down'))
    this.#pass('up', this.#client, server)
    this.#pass('down', server, this.#client)
  }

  #pass(direction: Direction, from: Socket, to: Socket): void {
    from.on('data', (bytes: Buffer) => {
      if (to.write(bytes)) return
      from.pause()
      to.once('drain', () => !this.#held.has(direction) && from.resume())
    })
  }

  /** There is no more to come; also one that is paused hears that. */
  #finish(direction: Direction): void {
    if (this.#held.has(direction) || !this.#server) this.#ended.add(direction)
    else this.#sourceOf(direction === 'up' ? 'down' : 'up')!.end()
  }

  #end(direction: Direction): void {
    this.#gone.add(direction)
    if (!this.#held.has(direction)) this.destroy()
  }

  #sourceOf(direction: Direction): Socket | undefined {
    return direction === 'up' ? this.#client : this.#server
  }
}
