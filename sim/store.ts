import { retryDelayMs } from '../src/core/lifecycle/states.ts'
import { reservedReplica } from '../src/core/reconcile/reserved-replica.ts'
import type { Demand, LearnedMemory, Replica, Rule } from '../src/core/types.ts'
import type { StoredModel } from '../src/store/models.ts'
import type { Move, NewReplica, ReportedLoad, StoredReplica } from '../src/store/replicas.ts'
import type { StoredWorld } from '../src/store/world.ts'
import { canonicalJson } from '../src/core/lib/canonical-json.ts'
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
  readonly models = new Map<string, StoredModel>()
  readonly rules = new Map<string, Rule>()
  readonly demands = new Map<string, Demand>()
  readonly learned = new Map<string, LearnedMemory>()
  readonly replicas = new Map<string, StoredReplica>()
  /** Nodes that had gone by then are not waited for. */
  lossAcceptedMs: number | null = null
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
      demands: [...this.demands.values()].toSorted(
        (a, b) => a.sinceMs - b.sinceMs || (a.modelName < b.modelName ? -1 : 1),
      ),
      facts: [],
      learned: this.listLearned(),
      lossAcceptedMs: this.lossAcceptedMs,
    }
  }

  /** One for each model, however many wait. */
  saveDemand(modelName: string, wantedMs: number): void {
    const { nowMs } = this.#queue
    const before = this.demands.get(modelName)
    const sinceMs = before && before.wantedUntilMs >= nowMs ? before.sinceMs : nowMs
    const wantedUntilMs = Math.max(before?.wantedUntilMs ?? 0, nowMs + wantedMs)
    this.demands.set(modelName, { modelName, sinceMs, wantedUntilMs })
  }

  deleteExpiredDemands(): void {
    for (const { modelName, wantedUntilMs } of this.demands.values()) {
      if (wantedUntilMs < this.#queue.nowMs) this.demands.delete(modelName)
    }
  }

  /** Of what models mean today. */
  listLearned(): LearnedMemory[] {
    return [...this.learned.values()].filter((one) => this.models.get(one.modelName)?.revision === one.revision)
  }

  saveLearned(learned: LearnedMemory): void {
    const { modelName, revision, engineVersion, deviceKind } = learned
    this.learned.set([modelName, revision, engineVersion, deviceKind].join(' '), learned)
  }

  replicasOfNode(nodeId: string): StoredReplica[] {
    return [...this.replicas.values()].filter((replica) => replica.nodeId === nodeId)
  }

  reserveReplica(slot: Omit<NewReplica, 'id'>): boolean {
    const { nodeId, modelName, replicaIndex, generation, revision, failures, claim } = slot
    // unique (node_id, model_name, replica_index)
    const isTaken = this.replicasOfNode(nodeId).some(
      (other) => other.modelName === modelName && other.replicaIndex === replicaIndex,
    )
    if (isTaken) return false
    this.#made += 1
    const id = `r${this.#made}`
    const held = this.#broken.has('claims are not written') ? null : claim
    const slotHeld = { nodeId, modelName, replicaIndex, generation, revision, failures, claim: held }
    const unheard = { progress: null, lastExit: null, createdMs: this.#queue.nowMs }
    this.#put({ ...reservedReplica(slotHeld), ...unheard, id })
    return true
  }

  /** Compare-and-set on (state, generation): false when the replica has moved on meanwhile. */
  moveReplica(replica: Replica, { to, error, knownFromSeq, outOfMemory = false }: Move): boolean {
    if (!this.#isUnmoved(replica)) return false
    const row = this.replicas.get(replica.id)!
    const { nowMs } = this.#queue
    const failures = to === 'failed' ? replica.failures + 1 : to === 'ready' ? 0 : replica.failures
    this.#put({
      ...row,
      state: to,
      error: error ?? null,
      failures,
      knownFromSeq: knownFromSeq ?? replica.knownFromSeq,
      retryAtMs: to === 'failed' ? nowMs + retryDelayMs(failures) : null,
      readySinceMs: to === 'ready' ? nowMs : row.readySinceMs,
      outOfMemory,
    })
    return true
  }

  /** What a heartbeat says of its work. Nothing that a check looks at, but for what it was measured to take. */
  recordLoad(id: string, load: ReportedLoad): void {
    const row = this.replicas.get(id)
    if (!row) return
    if (canonicalJson(row.measured) !== canonicalJson(load.measured)) this.version += 1
    this.replicas.set(id, { ...row, ...load })
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

  #put(replica: StoredReplica): void {
    this.replicas.set(replica.id, replica)
    this.version += 1
  }
}

function inOrderOfSlots(a: Replica, b: Replica): number {
  if (a.modelName !== b.modelName) return a.modelName < b.modelName ? -1 : 1
  if (a.nodeId !== b.nodeId) return a.nodeId < b.nodeId ? -1 : 1
  return a.replicaIndex - b.replicaIndex
}
