import type { GatewayLoadMessage } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { LiveRoute } from '../table/routing-table.ts'

export type UnreachableNode = NonNullable<GatewayLoadMessage['unreachable']>[number]

export interface UnreachableNodesDeps {
  table: {
    route(replicaId: string): LiveRoute | undefined
    /** When control last told us that it had heard a node. */
    heardAtMs(nodeId: string): number | undefined
  }
  clock: Clock
  /** Why the node of a replica does not answer, if it does not. */
  askNode: (route: LiveRoute) => Promise<string | undefined>
  onChange: () => void
}

const ASK_AGAIN_MS = 5000
/** Control has to have heard the node so long after it was out of reach: one that has just died is no such node. */
const HEARD_AFTER_MS = 5000
const MOST_NODES = 100
const MOST_TEXT = 200

interface Known {
  route: LiveRoute
  /** When the first connection failed. */
  sinceMs: number
  /** Undefined until it was asked. */
  why: string | undefined
}

/**
 * Nodes that control hears and this gateway cannot connect to: a firewall, NAT, a wrong `--advertise`. A failed connection
 * begins it; from then on the node is asked every 5 s until it answers. Nothing of it is on the way of a request.
 */
export class UnreachableNodes {
  readonly #deps: UnreachableNodesDeps
  readonly #nodes = new Map<string, Known>()
  #cancel: (() => void) | undefined
  #isDisposed = false

  constructor(deps: UnreachableNodesDeps) {
    this.#deps = deps
  }

  /** No connection to a replica. */
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
