import type { GatewayLoadMessage } from '../api/bus/messages.ts'
import type { Clock } from '../platform/clock.ts'
import type { LiveRoute } from './routing-table.ts'

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
/** Of a node that control has not heard for longer, control says that it is silent. */
const HEARD_WITHIN_MS = 15_000
const MOST_NODES = 100
const MOST_TEXT = 200

interface Known {
  route: LiveRoute
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
    const known = { route, why: undefined }
    this.#nodes.set(route.nodeId, known)
    void this.#ask(known)
  }

  list(): UnreachableNode[] {
    return [...this.#nodes.values()].flatMap(({ route, why }) => {
      if (why === undefined) return []
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
    const why = this.#isOurs(known) ? await this.#deps.askNode(known.route) : undefined
    if (this.#isDisposed) return
    const isNews = known.why !== why
    known.why = why
    if (why === undefined || !this.#isOurs(known)) this.#nodes.delete(known.route.nodeId)
    if (isNews) this.#deps.onChange()
    if (this.#nodes.size > 0) this.#cancel ??= this.#deps.clock.after(ASK_AGAIN_MS, () => this.#askAll())
  }

  #askAll(): void {
    this.#cancel = undefined
    for (const known of this.#nodes.values()) void this.#ask(known)
  }

  /** Its route is in the table, and control hears the node. */
  #isOurs({ route }: Known): boolean {
    const heardAtMs = this.#deps.table.heardAtMs(route.nodeId)
    const now = this.#deps.table.route(route.replicaId)
    if (heardAtMs === undefined || now?.address !== route.address) return false
    return Math.abs(this.#deps.clock.nowMs() - heardAtMs) <= HEARD_WITHIN_MS
  }
}
