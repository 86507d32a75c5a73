import type { NodeView, ReplicaView } from '../../api/admin/schemas.ts'
import { budgetBytes, parseBudget } from '../../core/nodes/budget.ts'
import { effectiveLabels, type Label } from '../../core/nodes/labels.ts'
import { statusOf } from '../../core/nodes/status.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sql } from '../../store/database.ts'
import { listLabels, listLabelsOfNode } from '../../store/labels.ts'
import { findNode, listNodes, slotsOf, type NodeRow } from '../../store/nodes.ts'
import { listReplicas, listReplicasOfNode, type StoredReplica } from '../../store/replicas.ts'

export async function viewNodes(sql: Sql): Promise<NodeView[]> {
  const rows = await listNodes(sql)
  const labels = await listLabels(sql)
  const replicas = Map.groupBy(await listReplicas(sql), ({ nodeId }) => nodeId)
  return rows.map((row) => viewNode(row, labels.get(row.id) ?? [], replicas.get(row.id) ?? []))
}

export async function viewOneNode(sql: Sql, id: string): Promise<NodeView> {
  const row = await neededNode(sql, id)
  return viewNode(row, await listLabelsOfNode(sql, id), await listReplicasOfNode(sql, id))
}

export async function neededNode(sql: Sql, id: string): Promise<NodeRow> {
  const node = await findNode(sql, id)
  if (!node) throw new AppError('not_found', `There is no node "${id}".`)
  return node
}

export function viewNode(row: NodeRow, labels: readonly Label[], replicas: readonly StoredReplica[]): NodeView {
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
    above_cap: replicas.filter(({ state, replicaIndex }) => state !== 'failed' && replicaIndex >= slots).length,
    ...viewBudget(row),
    gpu_vendor,
    devices,
    total_vram: totalVram(row),
    available_vram: availableVram(row),
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

export function viewLabels(labels: readonly Label[], slots: number): Pick<NodeView, 'labels' | 'label_sources'> {
  const effective = effectiveLabels(labels, slots)
  return {
    labels: Object.fromEntries(effective.map(({ key, value }) => [key, value])),
    label_sources: Object.fromEntries(effective.map(({ key, source }) => [key, source])),
  }
}

function viewBudget(row: NodeRow) {
  const text = row.vram_budget_override ?? row.vram_budget
  const budget = text === null ? undefined : parseBudget(text)
  return {
    vram_budget: text,
    // Without a device there is nothing to take a share of, or none has been reported yet.
    vram_budget_bytes: budget && row.devices.length > 0 ? budgetBytes(budget, totalVram(row)) : null,
    vram_budget_declared: row.vram_budget,
    vram_budget_manually_set: row.vram_budget_override !== null,
  }
}

function totalVram({ devices }: NodeRow): number {
  return devices.reduce((sum, gpu) => sum + gpu.total_vram, 0)
}

/** Null when some device could never be read. */
function availableVram({ devices }: NodeRow): number | null {
  if (devices.some((gpu) => gpu.available_vram === null)) return null
  return devices.reduce((sum, gpu) => sum + gpu.available_vram!, 0)
}

export function viewReplica(replica: StoredReplica): ReplicaView {
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
  }
}
