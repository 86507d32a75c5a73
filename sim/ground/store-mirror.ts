import type { DatabaseSync } from 'node:sqlite'
import type { EventQueue } from '../event-queue.ts'
import type { Statement, Who } from '../hooks.ts'

/** A row of a replica as checks look at it. */
export interface ReplicaMirror {
  id: string
  nodeId: string
  modelName: string
  index: number
  generation: number
  revision: string
  state: string
  /** When it was last changed to this state. */
  sinceMs: number
}

export interface NodeMirror {
  id: string
  name: string
  approved: boolean
  desired: string
  liveness: string
  bootId: string
  /** The run of its worker that it has now. */
  runId: string | null
  slots: number
  address: string
  /** When it last became what a gateway may send requests to, or stopped to be. */
  routableSinceMs: number
  unroutableSinceMs: number
}

/** What one commit did to the rows that checks look at. */
export interface Commit {
  who: Who
  statements: readonly Statement[]
  inserted: ReplicaMirror[]
  /** Also of those that are deleted: what they were before. */
  moved: { before: ReplicaMirror; after: ReplicaMirror | undefined }[]
  nodes: { before: NodeMirror | undefined; after: NodeMirror | undefined }[]
}

/**
 * The rows of nodes and replicas as they are committed, kept by triggers, so that a check costs as much as has changed and
 * asks the store nothing. Written apart from src/store on purpose.
 */
export class StoreMirror {
  readonly replicas = new Map<string, ReplicaMirror>()
  readonly nodes = new Map<string, NodeMirror>()
  /** Grows with every commit that changed one of them. */
  version = 0
  /** When the labels of each node were last changed. */
  readonly labelledMs = new Map<string, number>()
  /** Of replicas that are gone, for a while: when they went. */
  readonly goneMs = new Map<string, number>()
  onCommit: (commit: Commit) => void = () => {}
  readonly #queue: EventQueue
  #pending: Change[] = []

  constructor(db: DatabaseSync, queue: EventQueue) {
    this.#queue = queue
    db.function('mirror_replica', { varargs: true }, (...values: unknown[]) => {
      this.#pending.push({ table: 'replicas', values: values as Change['values'] })
      return 0
    })
    db.function('mirror_node', { varargs: true }, (...values: unknown[]) => {
      this.#pending.push({ table: 'nodes', values: values as Change['values'] })
      return 0
    })
    db.function('mirror_label', (nodeId) => {
      this.labelledMs.set(String(nodeId), queue.nowMs)
      return 0
    })
    const replica = (row: string): string =>
      ['id', 'node_id', 'model_name', 'replica_index', 'generation', 'revision', 'state']
        .map((column) => `${row}.${column}`)
        .join(', ')
    const node = (row: string): string =>
      [
        'id',
        'name',
        'approved_at',
        'desired',
        'liveness',
        'boot_id',
        'run_id',
        'max_replicas_per_model',
        'max_replicas_override',
        'node_type',
        'address',
      ]
        .map((column) => `${row}.${column}`)
        .join(', ')
    db.exec(`
      create temp trigger mirror_ri after insert on main.replicas begin select mirror_replica(1, ${replica('new')}); end;
      create temp trigger mirror_ru after update of state, generation, revision on main.replicas
        when new.state <> old.state or new.generation <> old.generation or new.revision <> old.revision
        begin select mirror_replica(1, ${replica('new')}); end;
      create temp trigger mirror_rd after delete on main.replicas begin select mirror_replica(0, ${replica('old')}); end;
      create temp trigger mirror_li after insert on main.node_labels begin select mirror_label(new.node_id); end;
      create temp trigger mirror_lu after update on main.node_labels when new.value <> old.value
        begin select mirror_label(new.node_id); end;
      create temp trigger mirror_ld after delete on main.node_labels begin select mirror_label(old.node_id); end;
      create temp trigger mirror_ni after insert on main.nodes begin select mirror_node(1, ${node('new')}); end;
      create temp trigger mirror_nu after update of
        name, approved_at, desired, boot_id, run_id, max_replicas_per_model, max_replicas_override, node_type,
        address on main.nodes
        when new.approved_at is not old.approved_at or new.desired <> old.desired
          or new.boot_id <> old.boot_id or new.run_id is not old.run_id or new.max_replicas_per_model <> old.max_replicas_per_model
          or new.max_replicas_override is not old.max_replicas_override or new.node_type <> old.node_type
          or new.address <> old.address or new.name <> old.name
        begin select mirror_node(1, ${node('new')}); end;
      create temp trigger mirror_nl after update of liveness on main.nodes when new.liveness <> old.liveness
        begin select mirror_node(1, ${node('new')}); end;
      create temp trigger mirror_nd after delete on main.nodes begin select mirror_node(0, ${node('old')}); end;
    `)
  }

  committed(who: Who, statements: readonly Statement[]): void {
    const commit: Commit = { who, statements, inserted: [], moved: [], nodes: [] }
    if (this.#pending.length > 0) {
      const pending = this.#pending
      this.#pending = []
      this.version += 1
      for (const change of pending) {
        if (change.table === 'replicas') this.#takeReplica(change.values, commit)
        else this.#takeNode(change.values, commit)
      }
    }
    this.onCommit(commit)
  }

  rolledBack(): void {
    this.#pending = []
  }

  replicasOf(nodeId: string): ReplicaMirror[] {
    return [...this.replicas.values()].filter((row) => row.nodeId === nodeId)
  }

  #takeReplica(values: Change['values'], commit: Commit): void {
    const [isThere, id, nodeId, modelName, index, generation, revision, state] = values as [
      number,
      string,
      string,
      string,
      number,
      number,
      string,
      string,
    ]
    const before = this.replicas.get(id)
    if (!isThere) {
      if (!before) return
      this.replicas.delete(id)
      this.goneMs.set(id, this.#queue.nowMs)
      if (this.goneMs.size > MOST_GONE) this.goneMs.delete(this.goneMs.keys().next().value!)
      commit.moved.push({ before, after: undefined })
      return
    }
    const after = { id, nodeId, modelName, index, generation, revision, state, sinceMs: this.#queue.nowMs }
    this.replicas.set(id, after)
    if (before) commit.moved.push({ before, after })
    else commit.inserted.push(after)
  }

  #takeNode(values: Change['values'], commit: Commit): void {
    const [isThere, id, name, approvedAt, desired, liveness, bootId, runId, declared, override, type, address] =
      values as [
        number,
        string,
        string,
        number | null,
        string,
        string,
        string,
        string | null,
        number,
        number | null,
        string,
        string,
      ]
    const before = this.nodes.get(id)
    if (!isThere) {
      this.nodes.delete(id)
      commit.nodes.push({ before, after: undefined })
      return
    }
    const nowMs = this.#queue.nowMs
    const approved = approvedAt !== null
    const isRoutable = approved && desired === 'active' && liveness !== 'offline'
    const wasRoutable = before && before.approved && before.desired === 'active' && before.liveness !== 'offline'
    const after: NodeMirror = {
      id,
      name,
      approved,
      desired,
      liveness,
      bootId,
      runId,
      slots: type === 'agent' ? 0 : (override ?? declared),
      address,
      routableSinceMs: isRoutable && !wasRoutable ? nowMs : (before?.routableSinceMs ?? nowMs),
      unroutableSinceMs: !isRoutable && wasRoutable !== false ? nowMs : (before?.unroutableSinceMs ?? nowMs),
    }
    this.nodes.set(id, after)
    commit.nodes.push({ before, after })
  }
}

const MOST_GONE = 2000

interface Change {
  table: 'replicas' | 'nodes'
  values: readonly (string | number | null)[]
}
