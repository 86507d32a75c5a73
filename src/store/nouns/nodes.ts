import { z } from 'zod'
import { device } from '../../api/hardware.ts'
import type { AwaitedFreed } from '../../core/lifecycle/freed.ts'
import { budgetBytes, parseBudget } from '../../core/nodes/budget.ts'
import { effectiveLabels, type Label } from '../../core/nodes/labels.ts'
import type { Silent } from '../../core/nodes/liveness.ts'
import type { Node } from '../../core/types.ts'
import type { Sql } from '../sql.ts'
import { jsonText } from '../json-text.ts'
import { queryAmong, type Among } from '../query-among.ts'
import { listLabels } from './labels.ts'
import { decisiveEngines, reportedEngines, toNodeEngines } from './node-engines.ts'
import { RowMemory } from '../world/row-memory.ts'

export const devicesText = jsonText(z.array(device))

const freed = z.object({
  replicaId: z.string(),
  devices: z.array(z.object({ index: z.number(), bytes: z.number() })),
  ram: z.number(),
  untilMs: z.number(),
})
const freedText = jsonText(z.array(freed))

/** What decisions look at; read at every turn, so nothing is parsed that they do not need. */
const decisive = {
  id: z.string(),
  name: z.string(),
  node_type: z.enum(['backend', 'agent']),
  address: z.string(),
  tls_fingerprint: z.string().nullable(),
  approved_at: z.number().nullable(),
  desired: z.enum(['active', 'draining']),
  liveness: z.enum(['online', 'unreachable', 'offline']),
  liveness_since: z.number(),
  boot_id: z.string(),
  heartbeat_seq: z.number(),
  max_replicas_per_model: z.number(),
  max_replicas_override: z.number().nullable(),
  engines: decisiveEngines,
  devices: jsonText(z.array(device.omit({ uuid: true }))),
  vram_budget: z.string().nullable(),
  vram_budget_override: z.string().nullable(),
  total_ram: z.number().nullable(),
  available_ram: z.number().nullable(),
  total_disk: z.number().nullable(),
  available_disk: z.number().nullable(),
  freed: freedText.nullable(),
  last_heartbeat: z.number().nullable(),
  refused_address: z.string().nullable(),
  refused_at: z.number().nullable(),
}
const decisiveRow = z.object(decisive)
const decisiveRows = decisiveRow.array()
/** What people see of all nodes together, several times a second; engines as decisions have them. */
const viewed = {
  ...decisive,
  public_key: z.string(),
  version: z.string(),
  devices: devicesText,
  gpu_vendor: z.string().nullable(),
  registered_at: z.number(),
}
const viewedRow = z.object(viewed)
export type ViewedNodeRow = z.infer<typeof viewedRow>
const nodeRow = z.object({ ...viewed, engines: reportedEngines, run_id: z.string().nullable() })
const nodeRows = nodeRow.array()
export type NodeRow = z.infer<typeof nodeRow>

export async function listNodes(sql: Sql): Promise<NodeRow[]> {
  return nodeRows.parse(await sql.query('select * from nodes order by name'))
}

export async function listViewedNodes(sql: Sql, memory = new RowMemory<ViewedNodeRow>()): Promise<ViewedNodeRow[]> {
  const rows = await sql.query(`select ${Object.keys(viewed).join(', ')} from nodes order by name`)
  return memory.parse(rows, (row) => viewedRow.parse(row))
}

/** With when it was last heard; decisions go by its liveness. */
export interface StoredNode extends Node {
  lastHeartbeatMs: number | null
  /** By which its data port is known, when that is encrypted. */
  tlsFingerprint: string | null
  /** Where a second process with its key called from last, and when. */
  refused?: { address: string; atMs: number } | null
}

const selectDecisive = `select ${Object.keys(decisive).join(', ')} from nodes`

/** The nodes as decisions see them, or only these. */
export async function listDecisiveNodes(sql: Sql, ids?: Among): Promise<StoredNode[]> {
  const rows = await queryAmong(sql, 'id', ids, (where) => `${selectDecisive} ${where} order by name`)
  const labels = await listLabels(sql, ids)
  return decisiveRows.parse(rows).map((row) => toNode(row, labels.get(row.id) ?? []))
}

export function toNode(row: z.infer<typeof decisiveRow>, labels: readonly Label[]): StoredNode {
  const slots = slotsOf(row)
  return {
    id: row.id,
    name: row.name,
    address: row.address,
    approved: row.approved_at !== null,
    desired: row.desired,
    liveness: row.liveness,
    livenessSinceMs: row.liveness_since,
    bootId: row.boot_id,
    saidGoodbye: row.boot_id === GONE,
    isHeard: row.heartbeat_seq > 0,
    nodeType: row.node_type,
    maxReplicasPerModel: slots,
    labels: Object.fromEntries(effectiveLabels(labels, slots).map(({ key, value }) => [key, value])),
    availableVram: availableVram(row.devices),
    devices: row.devices.map(({ index, name, total_vram, available_vram, unified }) => ({
      index,
      name,
      totalVram: total_vram,
      availableVram: available_vram,
      unified,
    })),
    vramBudget: budgetOf(row),
    totalRam: row.total_ram,
    availableRam: row.available_ram,
    totalDisk: row.total_disk,
    availableDisk: row.available_disk,
    freed: row.freed ?? [],
    engines: toNodeEngines(row.engines),
    lastHeartbeatMs: row.last_heartbeat,
    tlsFingerprint: row.tls_fingerprint,
    refused: row.refused_at === null ? null : { address: row.refused_address ?? '', atMs: row.refused_at },
  }
}

/** What a node's row says of replicas that have ended and are not in its readings yet. */
export function readFreed(text: string | null): readonly AwaitedFreed[] {
  return text === null ? [] : freedText.parse(text)
}

export async function saveFreed(tx: Sql, nodeId: string, list: readonly AwaitedFreed[]): Promise<void> {
  const text = list.length === 0 ? null : JSON.stringify(list)
  await tx.query('update nodes set freed = $2 where id = $1', [nodeId, text])
}

/** Null without a device, or when some device could never be read. */
function availableVram(devices: readonly { available_vram: number | null }[]): number | null {
  let sum: number | null = null
  for (const { available_vram: free } of devices) {
    if (free === null) return null
    sum = (sum ?? 0) + free
  }
  return sum
}

/** The effective cap on VRAM in bytes. Without a device there is nothing to take a share of, or none has been reported yet. */
export function budgetOf(row: {
  vram_budget: string | null
  vram_budget_override: string | null
  devices: readonly { total_vram: number }[]
}): number | null {
  const text = row.vram_budget_override ?? row.vram_budget
  const budget = text === null ? undefined : parseBudget(text)
  if (!budget || row.devices.length === 0) return null
  return budgetBytes(
    budget,
    row.devices.reduce((sum, { total_vram }) => sum + total_vram, 0),
  )
}

/** The effective number of slots: what an admin set, else what the worker declared. An agent has none. */
export function slotsOf(row: Pick<NodeRow, 'node_type' | 'max_replicas_per_model' | 'max_replicas_override'>): number {
  return row.node_type === 'agent' ? 0 : (row.max_replicas_override ?? row.max_replicas_per_model)
}

export async function findNode(sql: Sql, id: string): Promise<NodeRow | undefined> {
  return nodeRows.parse(await sql.query('select * from nodes where id = $1', [id]))[0]
}

/** The identity of a node: all that its credentials are made from. Every node asks for those again and again. */
export async function findNodeIdentity(
  sql: Sql,
  id: string,
): Promise<Pick<NodeRow, 'id' | 'name' | 'public_key' | 'approved_at' | 'run_id'> | undefined> {
  const text = 'select id, name, public_key, approved_at, run_id from nodes where id = $1'
  return (await sql.query<NodeRow>(text, [id]))[0]
}

export async function findNodeByKey(tx: Sql, publicKey: string): Promise<NodeRow | undefined> {
  return nodeRows.parse(await tx.query('select * from nodes where public_key = $1', [publicKey]))[0]
}

export async function findNodeByName(tx: Sql, name: string): Promise<NodeRow | undefined> {
  return nodeRows.parse(await tx.query('select * from nodes where name = $1', [name]))[0]
}

/** What a worker says about itself when it registers. */
export interface NodeFacts {
  id: string
  name: string
  publicKey: string
  nodeType: Node['nodeType']
  address: string
  version: string
  bootId: string
  /** Null of a worker of the release before. */
  runId: string | null
  maxReplicasPerModel: number
  vramBudget: string | null
  tlsFingerprint: string | null
}

/** Approval of a new node is decided here; nothing that its worker does later changes it. */
export async function insertNode(tx: Sql, node: NodeFacts, approved: boolean): Promise<void> {
  await tx.query(
    `insert into nodes (id, public_key, name, node_type, address, version, boot_id, max_replicas_per_model, vram_budget,
       tls_fingerprint, run_id, approved_at, liveness_since, registered_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, case when $12 = 1 then now_ms() end, now_ms(), now_ms())`,
    [node.id, node.publicKey, ...declared(node), approved ? 1 : 0],
  )
}

/**
 * The same node again, perhaps under another name or address. What an admin decided is not touched. A new boot starts
 * counting heartbeats anew.
 */
export async function updateNode(tx: Sql, node: NodeFacts): Promise<void> {
  await tx.query(
    `update nodes set name = $2, node_type = $3, address = $4, version = $5,
       heartbeat_seq = case when boot_id = $6 then heartbeat_seq else 0 end, boot_id = $6,
       max_replicas_per_model = $7, vram_budget = $8, tls_fingerprint = $9, run_id = $10
     where id = $1`,
    [node.id, ...declared(node)],
  )
}

/** Gives the node another key; no other node may have it. */
export async function replaceNodeKey(tx: Sql, id: string, publicKey: string): Promise<void> {
  await tx.query('update nodes set public_key = $2 where id = $1', [id, publicKey])
}

function declared(node: NodeFacts): (string | number | null)[] {
  const { name, nodeType, address, version, bootId, maxReplicasPerModel, vramBudget, tlsFingerprint, runId } = node
  return [name, nodeType, address, version, bootId, maxReplicasPerModel, vramBudget, tlsFingerprint, runId]
}

/** The boot of a node that said goodbye: no heartbeat has it, so none brings the node back. */
const GONE = ''

export function hasSaidGoodbye({ boot_id: bootId }: { boot_id: string }): boolean {
  return bootId === GONE
}

/** False when the node has said goodbye before, runs again since that boot, or is another run than the one that says it. */
export async function sayGoodbye(
  tx: Sql,
  id: string,
  { bootId, runId }: { bootId: string | undefined; runId: string | null },
): Promise<boolean> {
  const rows = await tx.query(
    `update nodes set boot_id = $2, liveness = 'offline',
       liveness_since = case when liveness = 'offline' then liveness_since else now_ms() end
     where id = $1 and boot_id <> $2 and boot_id = coalesce($3, boot_id) and (run_id is null or run_id = $4)
     returning id`,
    [id, GONE, bootId ?? null, runId],
  )
  return rows.length === 1
}

/** False when it is approved already. */
export async function approveNode(tx: Sql, id: string): Promise<boolean> {
  const text = 'update nodes set approved_at = now_ms() where id = $1 and approved_at is null returning id'
  return (await tx.query(text, [id])).length === 1
}

/** False when it is so already. */
export async function setDesired(tx: Sql, id: string, desired: Node['desired']): Promise<boolean> {
  const text = 'update nodes set desired = $2 where id = $1 and desired <> $2 returning id'
  return (await tx.query(text, [id, desired])).length === 1
}

/** Null restores what the worker declares. */
export async function overrideSlots(tx: Sql, id: string, value: number | null): Promise<void> {
  await tx.query('update nodes set max_replicas_override = $2 where id = $1', [id, value])
}

export async function overrideBudget(tx: Sql, id: string, value: string | null): Promise<void> {
  await tx.query('update nodes set vram_budget_override = $2 where id = $1', [id, value])
}

/** With its labels and replicas. */
export async function deleteNode(tx: Sql, id: string): Promise<void> {
  await tx.query('delete from nodes where id = $1', [id])
}

/** Asked once for all rows and not for each. */
const NOW = '(select now_ms())'

export interface SilentReplica {
  nodeId: string
  address: string
  tls_fingerprint: string | null
  id: string
  generation: number
}

/** One ready replica of each node that has been silent for so long, to ask whether the node is really gone. */
export async function listSilentReplicas(sql: Sql, silentForMs: number): Promise<SilentReplica[]> {
  const rows = await sql.query<Omit<SilentReplica, 'nodeId'> & { node_id: string }>(
    `select n.id as node_id, n.address, n.tls_fingerprint, r.id, r.generation from nodes n join replicas r on r.node_id = n.id
     where r.state = 'ready' and n.liveness <> 'offline' and coalesce(n.last_heartbeat, 0) < ${NOW} - $1 and n.boot_id <> ''
       and not exists (select 1 from replicas o where o.node_id = n.id and o.state = 'ready' and o.id < r.id)`,
    [silentForMs],
  )
  return rows.map(({ node_id: nodeId, ...rest }) => ({ nodeId, ...rest }))
}

/** Nodes from which no heartbeat has come for so long, unless they are offline already; and the store's clock. */
export async function listSilentNodes(tx: Sql, silentForMs: number): Promise<{ nowMs: number; nodes: Silent[] }> {
  const [clock] = await tx.query<{ now: number }>('select now_ms() as now')
  const nowMs = clock!.now
  const rows = await tx.query<Omit<Silent, 'lastHeartbeatMs'> & { last_heartbeat: number | null }>(
    `select id, name, liveness, last_heartbeat from nodes
     where liveness <> 'offline' and coalesce(last_heartbeat, 0) < $1 order by id`,
    [nowMs - silentForMs],
  )
  return { nowMs, nodes: rows.map(({ last_heartbeat: lastHeartbeatMs, ...node }) => ({ ...node, lastHeartbeatMs })) }
}

/** `sinceMs` is one moment for all nodes that are judged together: how close to each other they went is compared later. */
export async function setLiveness(
  tx: Sql,
  id: string,
  { liveness, sinceMs }: { liveness: Node['liveness']; sinceMs: number },
): Promise<void> {
  await tx.query('update nodes set liveness = $2, liveness_since = $3 where id = $1', [id, liveness, sinceMs])
}
