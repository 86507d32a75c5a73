import type { GatewayLoadMessage } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { LiveRoute } from '../table/routing-table.ts'

export type UnreachableNode = NonNullable<GatewayLoadMessage['unreachable']>[number]

export interface UnreachableNodesDeps {
  table: {
    route(replicaId: string): LiveRoute | undefined
    /** When control last reported that it had heard a node. */
    heardAtMs(nodeId: string): number | undefined
  }
  clock: Clock
  /** Why the node of a replica does not answer; undefined when it does. */
  askNode: (route: LiveRoute) => Promise<string | undefined>
  onChange: () => void
}

const ASK_AGAIN_MS = 5000
/** Control must hear the node for this long after the first failure; a node that has just died is not reported. */
const HEARD_AFTER_MS = 5000
const MOST_NODES = 100
const MOST_TEXT = 200

interface Known {
  route: LiveRoute
  /** When the first connection failed. */
  sinceMs: number
  /** Undefined until the node was probed. */
  why: string | undefined
}

/**
 * Nodes that control hears but this gateway cannot connect to, because of a firewall, NAT, or a wrong `--advertise`. After a
 * failed connection the node is probed every 5 s until it answers. No request waits for that.
 */
export class UnreachableNodes {
  readonly #deps: UnreachableNodesDeps
  readonly #nodes = new Map<string, Known>()
  #cancel: (() => void) | undefined
  #isDisposed = false

  constructor(deps: UnreachableNodesDeps) {
    this.#deps = deps
  }

  /** A replica could not be connected to. */
  failed(route: LiveRoute): void {
    if (this.#isDisposed || this.#nodes.has(route.nodeId) || this.#nodes.size >= MOST_NODES) return
    const known = { route, why: undefined, sinceMs: this.#deps.clock.nowMs() }
    this.#nodes.set(route.nodeId, known)
    void this.#ask(known)
  }

  list(): UnreachableNode[] {
    return [...this.#nodes.values()].flatMap(({ route, why, sinceMs }) => {
      const heardAtMs = this.#deps.table.heardAtMs(route.nodeId) ?? -Infinity
      if (why === undefined || heardAtMs - sinceMs < HEARD_AFTER_MS) return []
      const { nodeId, nodeName, address } = route
      return [
        { node_id: nodeId, node_name: nodeName, address: address.slice(0, MOST_TEXT), why: why.slice(0, MOST_TEXT) },
      ]
    })
  }

  dispose(): void {
    this.#isDisposed = true
    this.#cancel?.()
    this.#nodes.clear()
  }

  async #ask(known: Known): Promise<void> {
    known.why = this.#isRouted(known) ? await this.#deps.askNode(known.route) : undefined
    if (this.#isDisposed) return
    if (known.why === undefined || !this.#isRouted(known)) this.#nodes.delete(known.route.nodeId)
    this.#deps.onChange()
    if (this.#nodes.size > 0) this.#cancel ??= this.#deps.clock.after(ASK_AGAIN_MS, () => this.#askAll())
  }

  #askAll(): void {
    this.#cancel = undefined
    for (const known of this.#nodes.values()) void this.#ask(known)
  }

  #isRouted({ route }: Known): boolean {
    return this.#deps.table.route(route.replicaId)?.address === route.address
  }
}
