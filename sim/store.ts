import { retryDelayMs } from '../src/core/lifecycle/states.ts'
import type { Replica, ReplicaState, Rule } from '../src/core/types.ts'
import type { ModelRow } from '../src/store/models.ts'
import type { StoredWorld } from '../src/store/world.ts'
import type { EventQueue } from './event-queue.ts'
import { LeaseRow } from './lease-row.ts'
import { NodeRows } from './node-rows.ts'
import type { Breakage } from './parts.ts'

/**
 * The rows of src/store in memory, under the same rules: each method is one query, and each event of the simulator that
 * writes is one serializable transaction. Rows are replaced and never changed, so a loaded world stays what it was.
 */
export class Store {
  readonly lease: LeaseRow
  readonly nodes: NodeRows
  readonly models = new Map<string, ModelRow>()
  readonly rules = new Map<string, Rule>()
  readonly replicas = new Map<string, Replica>()
  /** Grows with every change of a replica or node, so that checks look only when there is something new. */
  version = 0
  readonly #queue: EventQueue
  readonly #broken: ReadonlySet<Breakage>
  #made = 0

  constructor(queue: EventQueue, broken: ReadonlySet<Breakage>) {
    this.#queue = queue
    this.#broken = broken
    this.lease = new LeaseRow(queue, broken)
    this.nodes = new NodeRows(queue, broken, () => (this.version += 1))
  }

  loadWorld(): StoredWorld {
    return {
      nowMs: this.#queue.nowMs,
      nodes: this.nodes.listStored(),
      models: [...this.models.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      rules: [...this.rules.values()].toSorted((a, b) => (a.modelName < b.modelName ? -1 : 1)),
      replicas: [...this.replicas.values()].toSorted(inOrderOfSlots),
    }
  }

  replicasOfNode(nodeId: string): Replica[] {
    return [...this.replicas.values()].filter((replica) => replica.nodeId === nodeId)
  }

  reserveReplica(
    slot: Pick<Replica, 'nodeId' | 'modelName' | 'replicaIndex' | 'generation' | 'revision' | 'failures'>,
  ): boolean {
    const { nodeId, modelName, replicaIndex, generation, revision, failures } = slot
    // unique (node_id, model_name, replica_index)
    const isTaken = this.replicasOfNode(nodeId).some(
      (other) => other.modelName === modelName && other.replicaIndex === replicaIndex,
    )
    if (isTaken) return false
    this.#made += 1
    const id = `r${this.#made}`
    const fresh = { state: 'reserved' as const, error: null, retryAtMs: null, knownFromSeq: null }
    this.#put({ id, nodeId, modelName, replicaIndex, generation, revision, failures, ...fresh })
    return true
  }

  /** Compare-and-set on (state, generation): false when the replica has moved on meanwhile. */
  moveReplica(
    replica: Replica,
    { to, error, knownFromSeq }: { to: ReplicaState; error?: string | null; knownFromSeq?: number },
  ): boolean {
    if (!this.#isUnmoved(replica)) return false
    const failures = to === 'failed' ? replica.failures + 1 : to === 'ready' ? 0 : replica.failures
    this.#put({
      ...this.replicas.get(replica.id)!,
      state: to,
      error: error ?? null,
      failures,
      knownFromSeq: knownFromSeq ?? replica.knownFromSeq,
      retryAtMs: to === 'failed' ? this.#queue.nowMs + retryDelayMs(failures) : null,
    })
    return true
  }

  /** Compare-and-set, as above. */
  deleteReplica(replica: Replica): boolean {
    if (!this.#isUnmoved(replica)) return false
    this.version += 1
    return this.replicas.delete(replica.id)
  }

  /** A new boot of a node has none of the old one's processes; failed slots keep their wait. */
  deleteReplicasOfOldBoot(nodeId: string): void {
    for (const replica of this.replicasOfNode(nodeId)) {
      if (replica.state !== 'failed') this.deleteReplica(replica)
      // The new boot counts its heartbeats from 1: a number of the old one would not come for a long time.
      else if (!this.#broken.has('failed rows keep the old number')) this.#put({ ...replica, knownFromSeq: null })
    }
  }

  #isUnmoved(replica: Replica): boolean {
    const row = this.replicas.get(replica.id)
    return row?.generation === replica.generation && row.state === replica.state
  }

  #put(replica: Replica): void {
    this.replicas.set(replica.id, replica)
    this.version += 1
  }
}

function inOrderOfSlots(a: Replica, b: Replica): number {
  if (a.modelName !== b.modelName) return a.modelName < b.modelName ? -1 : 1
  if (a.nodeId !== b.nodeId) return a.nodeId < b.nodeId ? -1 : 1
  return a.replicaIndex - b.replicaIndex
}
