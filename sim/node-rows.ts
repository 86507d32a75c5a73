import { canonicalJson } from '../src/core/lib/canonical-json.ts'
import type { Node } from '../src/core/types.ts'
import type { StoredNode } from '../src/store/nodes.ts'
import type { EventQueue } from './event-queue.ts'
import { OFFLINE_AFTER_MS, UNREACHABLE_AFTER_MS } from './limits.ts'
import type { Breakage } from './parts.ts'

interface Heard {
  seq: number
  atMs: number | null
}

interface Beat extends Pick<Node, 'bootId' | 'engines'> {
  seq: number
}

/** The rows of the nodes, as src/store/nodes.ts keeps them; in order of name. */
export class NodeRows {
  readonly #queue: EventQueue
  readonly #broken: ReadonlySet<Breakage>
  readonly #onChange: () => void
  readonly #rows = new Map<string, Node>()
  readonly #heard = new Map<string, Heard>()

  constructor(queue: EventQueue, broken: ReadonlySet<Breakage>, onChange: () => void) {
    this.#queue = queue
    this.#broken = broken
    this.#onChange = onChange
  }

  list(): Iterable<Node> {
    return this.#rows.values()
  }

  listStored(): StoredNode[] {
    return [...this.#rows.values()].map((node) => ({ ...node, lastHeartbeatMs: this.#heard.get(node.id)!.atMs }))
  }

  find(id: string): Node | undefined {
    return this.#rows.get(id)
  }

  insert(node: Node): void {
    this.#rows.set(node.id, node)
    this.#heard.set(node.id, { seq: 0, atMs: null })
    this.#onChange()
  }

  /** An admin's word, or a new boot. */
  change(id: string, fields: Partial<Node>): void {
    const node = this.#rows.get(id)!
    if (fields.bootId !== undefined && fields.bootId !== node.bootId) this.#heard.get(id)!.seq = 0
    this.#rows.set(id, { ...node, ...fields })
    this.#onChange()
  }

  /**
   * `ignored`: of another boot, older than one already seen, or of a pending node. `news`: the node was silent or new
   * until now, or can run something else than before.
   */
  recordHeartbeat(id: string, { bootId, seq, engines }: Beat): 'ignored' | 'recorded' | 'news' {
    const node = this.#rows.get(id)
    const heard = this.#heard.get(id)
    if (!node || !heard || node.bootId !== bootId || heard.seq >= seq || !node.approved) return 'ignored'
    heard.seq = seq
    heard.atMs = this.#queue.nowMs
    const isBack = node.liveness !== 'online'
    if (!isBack && canonicalJson(node.engines) === canonicalJson(engines)) return 'recorded'
    const livenessSinceMs = isBack ? this.#queue.nowMs : node.livenessSinceMs
    this.change(id, { liveness: 'online', livenessSinceMs, engines })
    return 'news'
  }

  /** Silence counts from when somebody listened: who was deaf for a minute has heard no node, and none of them is to blame. */
  judgeLiveness(listeningSinceMs: number): Node[] {
    const { nowMs } = this.#queue
    const sinceMs = this.#broken.has('deaf leaders judge') ? 0 : listeningSinceMs
    const changed: Node[] = []
    for (const node of this.#rows.values()) {
      const heardMs = this.#heard.get(node.id)!.atMs
      const isOffline = heardMs === null || Math.max(heardMs, sinceMs) < nowMs - OFFLINE_AFTER_MS
      const isSilent = heardMs !== null && heardMs < nowMs - UNREACHABLE_AFTER_MS
      const liveness = isOffline ? 'offline' : isSilent && node.liveness === 'online' ? 'unreachable' : node.liveness
      if (liveness === node.liveness) continue
      this.change(node.id, { liveness, livenessSinceMs: nowMs })
      changed.push(this.#rows.get(node.id)!)
    }
    return changed
  }
}
