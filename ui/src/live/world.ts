import type { LiveMessage, LiveModel, LiveTraffic } from '../../../src/api/admin/live-schemas.ts'
import type { Problem } from '../../../src/api/admin/cluster-schemas.ts'
import type { RuleView } from '../../../src/api/admin/rule-schemas.ts'
import type { NodeView, ReplicaView } from '../../../src/api/admin/schemas.ts'

/** Everything that is known of the cluster. What has not changed stays the same object, so that nothing is drawn twice. */
export interface World {
  nodes: readonly NodeView[]
  replicas: readonly ReplicaView[]
  models: readonly LiveModel[]
  rules: readonly RuleView[]
  problems: readonly Problem[]
  traffic: LiveTraffic
  newestEvent: number
  /** By id of the node, in the order of models and indexes. */
  replicasOn: ReadonlyMap<string, readonly ReplicaView[]>
  /** The frontend's clock less ours. */
  clockAheadMs: number
}

const NO_TRAFFIC = { rate: 0, error_rate: 0, latency_ms: null, first_byte_ms: null, history: [] }

export const nothingYet: World = {
  nodes: [],
  replicas: [],
  models: [],
  rules: [],
  problems: [],
  traffic: { cluster: NO_TRAFFIC, models: {}, replicas: {} },
  newestEvent: 0,
  replicasOn: new Map(),
  clockAheadMs: 0,
}

/** The world after a message. A snapshot is applied to nothing. */
export function takeIn(before: World, message: LiveMessage, nowMs: number): World {
  const old = message.is_snapshot ? nothingYet : before
  const replicas = changed(old.replicas, message.replicas, ({ id }) => id, byKey)
  return {
    nodes: changed(old.nodes, message.nodes, ({ id }) => id, byName),
    replicas,
    models: changed(old.models, message.models, ({ name }) => name, byName),
    rules: changed(old.rules, message.rules, ({ model_name: name }) => name, byModel),
    problems: message.problems ?? old.problems,
    traffic: message.traffic ?? old.traffic,
    newestEvent: message.newest_event,
    replicasOn: replicas === before.replicas ? before.replicasOn : group(replicas, before.replicasOn),
    clockAheadMs: message.at - nowMs,
  }
}

type Changes<T> = { set: T[]; patch: Record<string, Record<string, unknown>>; gone: string[] }

function changed<T>(
  before: readonly T[],
  { set, patch, gone }: Changes<T>,
  idOf: (item: T) => string,
  order: (a: T, b: T) => number,
): readonly T[] {
  if (set.length === 0 && gone.length === 0 && Object.keys(patch).length === 0) return before
  const left = new Set([...gone, ...set.map(idOf)])
  const kept = before.flatMap((item) => {
    const id = idOf(item)
    if (left.has(id)) return []
    const fields = Object.hasOwn(patch, id) ? patch[id] : undefined
    return [fields ? { ...item, ...fields } : item]
  })
  return set.length === 0 ? kept : [...kept, ...set].toSorted(order)
}

/** Lists whose replicas are all the same objects stay the same list. */
function group(
  replicas: readonly ReplicaView[],
  before: ReadonlyMap<string, readonly ReplicaView[]>,
): ReadonlyMap<string, readonly ReplicaView[]> {
  const groups = Map.groupBy(replicas, ({ node_id: id }) => id)
  return new Map(
    [...groups].map(([id, mine]) => {
      const old = before.get(id)
      const isSame = old?.length === mine.length && mine.every((replica, i) => replica === old[i])
      return [id, isSame ? old : mine]
    }),
  )
}

const collator = new Intl.Collator('en', { numeric: true })

function byName(a: { name: string }, b: { name: string }): number {
  return collator.compare(a.name, b.name)
}

function byModel(a: RuleView, b: RuleView): number {
  return collator.compare(a.model_name, b.model_name)
}

function byKey(a: ReplicaView, b: ReplicaView): number {
  return collator.compare(a.model_name, b.model_name) || a.replica_index - b.replica_index
}
