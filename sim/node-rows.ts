import type { HeartbeatMessage } from '../src/api/bus/messages.ts'
import { canonicalJson } from '../src/core/lib/canonical-json.ts'
import type { Node } from '../src/core/types.ts'
import { toNodeEngines } from '../src/store/node-engines.ts'
import type { StoredNode } from '../src/store/nodes.ts'
import type { EventQueue } from './event-queue.ts'
import { OFFLINE_AFTER_MS, UNREACHABLE_AFTER_MS } from './limits.ts'
import type { Breakage } from './parts.ts'

interface Heard {
  seq: number
  atMs: number | null
}

/** The rows of the nodes, as src/store/nodes.ts keeps them; in order of name. */
export class NodeRows {
  readonly #queue: EventQueue
  readonly #broken: ReadonlySet<Breakage>
  readonly #onChange: () => void
  readonly #rows = new Map<string, Node>()
  readonly #heard = new Map<string, Heard>()
  readonly #mostSlots = new Map<string, number>()

  constructor(queue: EventQueue, broken: ReadonlySet<Breakage>, onChange: () => void) {
    this.#queue = queue
    this.#broken = broken
    this.#onChange = onChange
  }

  list(): Iterable<Node> {
    return this.#rows.values()
  }

  listStored(): StoredNode[] {
    return [...this.#rows.values()].map((node) => ({
      ...node,
      lastHeartbeatMs: this.#heard.get(node.id)!.atMs,
      tlsFingerprint: null,
    }))
  }

  find(id: string): Node | undefined {
    return this.#rows.get(id)
  }

  /** The most slots that the node ever had: what took one before an admin lowered them keeps it. */
  mostSlots(id: string): number {
    return this.#mostSlots.get(id) ?? 0
  }

  insert(node: Node): void {
    this.#mostSlots.set(node.id, node.maxReplicasPerModel)
    this.#rows.set(node.id, node)
    this.#heard.set(node.id, { seq: 0, atMs: null })
    this.#onChange()
  }

  /** An admin's word, or a new boot. */
  change(id: string, fields: Partial<Node>): void {
    const node = this.#rows.get(id)!
    const isNewBoot = fields.bootId !== undefined && fields.bootId !== node.bootId
    if (isNewBoot) this.#heard.get(id)!.seq = 0
    this.#rows.set(id, { ...node, ...fields, ...(isNewBoot && { isHeard: false }) })
    this.#mostSlots.set(id, Math.max(this.mostSlots(id), fields.maxReplicasPerModel ?? 0))
    this.#onChange()
  }

  /**
   * `ignored`: of another boot, older than one already seen, or of a pending node. `news`: the node was silent or new
   * until now, or can run something else than before.
   */
  recordHeartbeat(id: string, beat: HeartbeatMessage): 'ignored' | 'recorded' | 'news' {
    const node = this.#rows.get(id)
    const heard = this.#heard.get(id)
    if (!node || !heard || node.bootId !== beat.boot_id || heard.seq >= beat.seq || !node.approved) return 'ignored'
    heard.seq = beat.seq
    heard.atMs = this.#queue.nowMs
    // Readings are no change that a check looks at.
    this.#rows.set(id, { ...node, ...readingsOf(node, beat), isHeard: true })
    const engines = toNodeEngines(beat.engines)
    const isBack = node.liveness !== 'online'
    const isFirst = node.devices.length !== beat.devices.length
    if (!isBack && !isFirst && canonicalJson(node.engines) === canonicalJson(engines)) return 'recorded'
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

function readingsOf(node: Node, { devices, total_ram, available_ram, total_disk, available_disk }: HeartbeatMessage) {
  // A device that could not be read keeps its last figure.
  const lastOf = new Map(node.devices.map(({ index, availableVram }) => [index, availableVram]))
  return {
    devices: devices.map(({ index, name, total_vram: totalVram, available_vram: free, unified }) => ({
      index,
      name,
      totalVram,
      availableVram: free ?? lastOf.get(index) ?? null,
      unified,
    })),
    totalRam: total_ram,
    availableRam: available_ram,
    totalDisk: total_disk,
    availableDisk: available_disk,
  }
}
