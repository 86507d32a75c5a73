import type { NodeView, ReplicaView } from '../../api/admin/schemas.ts'
import { effectiveLabels, type Label } from '../../core/nodes/labels.ts'
import { statusOf } from '../../core/nodes/status.ts'
import { Fleet } from '../../core/placement/fleet.ts'
import { isMeasurementFinal, memoryOf, reservedOn } from '../../core/placement/holding.ts'
import type { Claim, Model, Node, NodeEngine } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sql } from '../../store/sql.ts'
import { listLabels, listLabelsOfNode } from '../../store/nouns/labels.ts'
import { listModels } from '../../store/nouns/models.ts'
import {
  budgetOf,
  findNode,
  listViewedNodes,
  slotsOf,
  toNode,
  type NodeRow,
  type ViewedNodeRow,
} from '../../store/nouns/nodes.ts'
import { listReplicas, listReplicasOfNode, type StoredReplica } from '../../store/nouns/replicas.ts'

export async function viewNodes(sql: Sql): Promise<NodeView[]> {
  const rows = await listViewedNodes(sql)
  const labels = await listLabels(sql)
  const replicas = Map.groupBy(await listReplicas(sql), ({ nodeId }) => nodeId)
  const models = await listModels(sql)
  return rows.map((row) => viewNode(row, labels.get(row.id) ?? [], replicas.get(row.id) ?? [], models))
}

export async function viewOneNode(sql: Sql, id: string): Promise<NodeView> {
  const row = await neededNode(sql, id)
  return viewNode(row, await listLabelsOfNode(sql, id), await listReplicasOfNode(sql, id), await listModels(sql))
}

export async function neededNode(sql: Sql, id: string): Promise<NodeRow> {
  const node = await findNode(sql, id)
  if (!node) throw noNode(id)
  return node
}

export function noNode(id: string): AppError {
  return new AppError('not_found', `There is no node "${id}".`)
}

export function viewNode(
  row: ViewedNodeRow,
  labels: readonly Label[],
  replicas: readonly StoredReplica[],
  models: readonly Model[],
): NodeView {
  const slots = slotsOf(row)
  const approved = row.approved_at !== null
  const { id, name, node_type, desired, liveness, liveness_since, public_key, address, version } = row
  const { gpu_vendor, devices, total_ram, available_ram, total_disk, available_disk } = row
  const { last_heartbeat, registered_at } = row
  return {
    id,
    name,
    node_type,
    status: statusOf({ approved, desired, liveness }),
    approved,
    desired,
    liveness,
    liveness_since,
    public_key,
    address,
    version,
    ...viewLabels(labels, slots),
    max_replicas_per_model: slots,
    max_replicas_declared: row.max_replicas_per_model,
    max_replicas_per_model_manually_set: row.max_replicas_override !== null,
    above_cap: countAbove(replicas, slots),
    ...viewBudget(row),
    gpu_vendor,
    devices,
    total_vram: totalVram(row),
    available_vram: availableVram(row),
    ...viewHeld(toNode(row, labels), replicas, models),
    total_ram,
    available_ram,
    total_disk,
    available_disk,
    model_count: new Set(replicas.map(({ modelName }) => modelName)).size,
    replica_count: replicas.length,
    in_flight_count: replicas.reduce((sum, { inFlight }) => sum + inFlight, 0),
    last_heartbeat,
    registered_at,
  }
}

/** By how many run, not by index: one that runs alone as #1 is within one slot. */
function countAbove(replicas: readonly StoredReplica[], slots: number): number {
  const running = replicas.filter(({ state }) => state !== 'failed')
  let count = 0
  for (const some of Map.groupBy(running, ({ modelName }) => modelName).values()) {
    count += Math.max(0, some.length - slots)
  }
  return count
}

export function viewLabels(labels: readonly Label[], slots: number): Pick<NodeView, 'labels' | 'label_sources'> {
  const effective = effectiveLabels(labels, slots)
  return {
    labels: Object.fromEntries(effective.map(({ key, value }) => [key, value])),
    label_sources: Object.fromEntries(effective.map(({ key, source }) => [key, source])),
  }
}

function viewHeld(node: Node, replicas: readonly StoredReplica[], models: readonly Model[]) {
  const { vram, byDevice, ram } = reservedOn(node, replicas, models)
  const left = node.vramBudget === null ? null : Math.max(0, new Fleet([node], replicas, models).roomOf(node.id)!.vram)
  return { reserved_vram: vram, reserved_vram_by_device: byDevice, reserved_ram: ram, vram_budget_left: left }
}

function viewBudget(row: ViewedNodeRow) {
  return {
    vram_budget: row.vram_budget_override ?? row.vram_budget,
    vram_budget_bytes: budgetOf(row),
    vram_budget_declared: row.vram_budget,
    vram_budget_manually_set: row.vram_budget_override !== null,
  }
}

function totalVram({ devices }: ViewedNodeRow): number {
  return devices.reduce((sum, gpu) => sum + gpu.total_vram, 0)
}

/** Null when some device could never be read. */
function availableVram({ devices }: ViewedNodeRow): number | null {
  if (devices.some((gpu) => gpu.available_vram === null)) return null
  return devices.reduce((sum, gpu) => sum + gpu.available_vram!, 0)
}

/** Replicas of these nodes, each with what is held for it there. */
export function replicaViewer(
  nodes: readonly Node[],
  models: readonly Model[],
): (replica: StoredReplica) => ReplicaView {
  const nodeOf = new Map(nodes.map((node) => [node.id, node]))
  const modelOf = new Map(models.map((model) => [model.name, model]))
  return (replica) => {
    const node = nodeOf.get(replica.nodeId)
    return viewReplica(replica, node && memoryOf(replica, node, modelOf.get(replica.modelName)))
  }
}

function viewReplica(replica: StoredReplica, memory: NodeEngine['memory'] | undefined): ReplicaView {
  const { measured } = replica
  return {
    id: replica.id,
    node_id: replica.nodeId,
    model_name: replica.modelName,
    replica_index: replica.replicaIndex,
    generation: replica.generation,
    revision: replica.revision,
    state: replica.state,
    in_flight: replica.inFlight,
    progress: replica.progress,
    error: replica.error,
    last_exit: replica.lastExit,
    claim: replica.claim && viewClaim(replica, replica.claim, memory),
    measured: measured && { devices: measured.devices?.slice() ?? null, ram: measured.ram },
    last_used_at: replica.lastUsedMs,
    ready_at: replica.readySinceMs,
  }
}

/** Of memory that the measurement says nothing of, the claim stands. */
function viewClaim(
  replica: StoredReplica,
  claim: Claim,
  memory: NodeEngine['memory'] | undefined,
): ReplicaView['claim'] {
  const { devices, ram, disk, source } = claim
  const { measured } = replica
  const isToldApart = devices.length === 0 || (measured?.devices?.length ?? 0) > 0
  if (!measured || !isToldApart || !isMeasurementFinal(replica, memory))
    return { devices: [...devices], ram, disk, source }
  return { devices: measured.devices?.slice() ?? [], ram: measured.ram, disk, source: 'measured' }
}
