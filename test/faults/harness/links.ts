import { Relay } from './relay.ts'

export interface Place {
  name: string
  host: string
  port: number
}

/** The network: one relay for each pair of a process and a place that it connects to. */
export class Links {
  readonly #relays = new Map<string, Relay>()

  /** Makes the links of one process; `host:port` of each place to the relay that stands for the way there. */
  async between(from: string, places: readonly Place[]): Promise<Record<string, number>> {
    const routes: Record<string, number> = {}
    for (const { name, host, port } of places) {
      const relay = await Relay.start({ host, port })
      this.#relays.set(`${from}>${name}`, relay)
      routes[`${host}:${port}`] = relay.port
    }
    return routes
  }

  get(from: string, to: string): Relay {
    const relay = this.#relays.get(`${from}>${to}`)
    if (!relay) throw new Error(`There is no link from ${from} to ${to}.`)
    return relay
  }

  healAll(): void {
    for (const relay of this.#relays.values()) relay.heal()
  }

  dispose(): void {
    for (const relay of this.#relays.values()) relay.dispose()
  }
}
