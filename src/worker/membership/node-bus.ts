import type { NodeCredentials } from '../../api/admin/schemas.ts'
import type { EventName, MessageOf } from '../../api/bus/subjects.ts'
import type { Bus } from '../../bus/bus.ts'
import { MovingBus, type MovingBusDeps } from '../../bus/moving-bus.ts'
import type { Link } from './membership.ts'

export interface NodeBusDeps extends Omit<MovingBusDeps, 'role'> {
  /** Subscribes to commands on a new connection. */
  obey: (bus: Bus, nodeId: string) => void
  /** The connection is up (again). */
  onConnected: () => void
}

/** A node's connection to the bus. Its permissions cover this node only. */
export class NodeBus implements Link {
  readonly #bus: MovingBus
  #nodeId: string | undefined

  constructor({ obey, onConnected, ...deps }: NodeBusDeps) {
    this.#bus = new MovingBus({ ...deps, role: 'node' })
    this.#bus.onConnection(obey)
    this.#bus.onReconnect(onConnected)
  }

  use(nodeId: string, credentials: NodeCredentials): Promise<void> {
    this.#nodeId = nodeId
    return this.#bus.use(nodeId, credentials)
  }

  publish<N extends EventName>(name: N, message: MessageOf<N>): void {
    this.#bus.publish(name, message, this.#nodeId)
  }

  isConnected(): boolean {
    return this.#bus.isConnected()
  }

  isRefused(): boolean {
    return this.#bus.isRefused()
  }

  leave(): Promise<void> {
    return this.#bus.leave()
  }

  dispose(): Promise<void> {
    return this.#bus.dispose()
  }
}
