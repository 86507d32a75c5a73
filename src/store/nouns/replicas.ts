import { z } from 'zod'
import type { EngineExitMessage, ProgressMessage } from '../../api/bus/messages.ts'
import { replicaState } from '../../api/replica-state.ts'
import { needSource } from '../../api/need-source.ts'
import { engineExit, measuredMemory, progress } from '../../api/reports.ts'
import { retryDelayMs } from '../../core/lifecycle/states.ts'
import type { Replica, ReplicaState } from '../../core/types.ts'
import type { Sql } from '../sql.ts'
import { jsonText } from '../json-text.ts'
import { queryAmong, type Among } from '../query-among.ts'
import { RecentRows, type RowMemory } from '../world/row-memory.ts'

/** With what the worker last said of its start and its end; decisions do not look at it. */
export interface StoredReplica extends Replica {
  progress: ProgressMessage | null
  lastExit: EngineExitMessage | null
  createdMs: number
}

const deviceBytes = z.object({ index: z.number(), bytes: z.number() })
const claim = z.object({
  devices: z.array(deviceBytes),
  ram: z.number(),
  disk: z.number(),
  source: needSource,
  alone: z.boolean(),
})

const replicaRow = z
  .object({
    id: z.string(),
    node_id: z.string(),
    model_name: z.string(),
    replica_index: z.number(),
    generation: z.number(),
    revision: z.string(),
    state: replicaState,
    in_flight: z.number(),
    progress: jsonText(progress).nullable(),
    last_exit: jsonText(engineExit).nullable(),
    error: z.string().nullable(),
    failures: z.number(),
    retry_at: z.number().nullable(),
    known_from_seq: z.number().nullable(),
    claim: jsonText(claim).nullable(),
    measured: jsonText(measuredMemory).nullable(),
    last_used_at: z.number().nullable(),
    ready_at: z.number().nullable(),
    out_of_memory: z.number(),
    created_at: z.number(),
  })
  .transform((row): StoredReplica => ({
    id: row.id,
    nodeId: row.node_id,
    modelName: row.model_name,
    replicaIndex: row.replica_index,
    generation: row.generation,
    revision: row.revision,
    state: row.state,
    inFlight: row.in_flight,
    progress: row.progress,
    lastExit: row.last_exit,
    error: row.error,
    failures: row.failures,
    retryAtMs: row.retry_at,
    knownFromSeq: row.known_from_seq,
    claim: row.claim,
    measured: row.measured,
    lastUsedMs: row.last_used_at,
    readySinceMs: row.ready_at,
    outOfMemory: row.out_of_memory === 1,
    createdMs: row.created_at,
  }))
const recent = new RecentRows((row) => replicaRow.parse(row))

/** All of them, or only those on these nodes. */
export async function listReplicas(sql: Sql, nodeIds?: Among): Promise<StoredReplica[]> {
  return recent.parse(await queryAmong(sql, 'node_id', nodeIds, inOrder))
}

export async function listReplicasOfModels(sql: Sql, modelNames: Among): Promise<StoredReplica[]> {
  return recent.parse(await queryAmong(sql, 'model_name', modelNames, inOrder))
}

function inOrder(where: string): string {
  return `select * from replicas ${where} order by model_name, node_id, replica_index`
}

export async function listReplicasAgain(sql: Sql, memory: RowMemory<StoredReplica>): Promise<StoredReplica[]> {
  return memory.parse(await sql.query(inOrder('')), (row) => replicaRow.parse(row))
}

export async function listReplicasOfNode(sql: Sql, nodeId: string): Promise<StoredReplica[]> {
  const text = 'select * from replicas where node_id = $1 order by model_name, replica_index'
  return recent.parse(await sql.query(text, [nodeId]))
}

export type NewReplica = Pick<
  Replica,
  'id' | 'nodeId' | 'modelName' | 'replicaIndex' | 'generation' | 'revision' | 'failures' | 'claim'
>

/** Takes a slot, and what its claim says. False when another transaction took the slot first. */
export async function insertReplica(tx: Sql, replica: NewReplica): Promise<boolean> {
  const rows = await tx.query(
    `insert into replicas (id, node_id, model_name, replica_index, generation, revision, state, failures, claim,
       created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, 'reserved', $7, $8, now_ms(), now_ms())
     on conflict do nothing returning id`,
    [
      replica.id,
      replica.nodeId,
      replica.modelName,
      replica.replicaIndex,
      replica.generation,
      replica.revision,
      replica.failures,
      replica.claim && JSON.stringify(replica.claim),
    ],
  )
  return rows.length === 1
}

export interface Move {
  to: ReplicaState
  error?: string | null
  knownFromSeq?: number
  outOfMemory?: boolean
}

/** Compare-and-set on (state, generation): false when the replica has moved on meanwhile. */
export async function moveReplica(tx: Sql, replica: Replica, move: Move): Promise<boolean> {
  const { to, error, knownFromSeq, outOfMemory = false } = move
  const failures = to === 'failed' ? replica.failures + 1 : to === 'ready' ? 0 : replica.failures
  const rows = await tx.query(
    `update replicas set state = $4, error = $5, failures = $6, known_from_seq = $7,
       retry_at = case when $8 > 0 then now_ms() + $8 end, out_of_memory = $9,
       ready_at = case when $4 = 'ready' then now_ms() else ready_at end, updated_at = now_ms()
     where id = $1 and generation = $2 and state = $3 returning id`,
    [
      replica.id,
      replica.generation,
      replica.state,
      to,
      error ?? null,
      failures,
      knownFromSeq ?? replica.knownFromSeq,
      to === 'failed' ? retryDelayMs(failures) : 0,
      outOfMemory ? 1 : 0,
    ],
  )
  return rows.length === 1
}

/** Compare-and-set, as above. */
export async function deleteReplica(tx: Sql, replica: Replica): Promise<boolean> {
  const rows = await tx.query('delete from replicas where id = $1 and generation = $2 and state = $3 returning id', [
    replica.id,
    replica.generation,
    replica.state,
  ])
  return rows.length === 1
}

/** A new boot of a node has none of the old one's processes. Failed slots keep their wait; heartbeats count from 1 again. */
export async function deleteReplicasOfOldBoot(tx: Sql, nodeId: string): Promise<number> {
  const rows = await tx.query(`delete from replicas where node_id = $1 and state <> 'failed' returning id`, [nodeId])
  await tx.query('update replicas set known_from_seq = null where node_id = $1', [nodeId])
  return rows.length
}

/** All of them: the node has said goodbye, or runs no replicas any more. */
export async function deleteReplicasOfNode(tx: Sql, nodeId: string): Promise<number> {
  return (await tx.query('delete from replicas where node_id = $1 returning id', [nodeId])).length
}

export type ReportedLoad = Pick<StoredReplica, 'inFlight' | 'progress' | 'lastExit' | 'measured' | 'lastUsedMs'>

export async function recordLoad(tx: Sql, replicaId: string, load: ReportedLoad): Promise<void> {
  const text = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))
  await tx.query(
    `update replicas set in_flight = $2, progress = $3, last_exit = $4, measured = $5, last_used_at = $6 where id = $1`,
    [replicaId, load.inFlight, text(load.progress), text(load.lastExit), text(load.measured), load.lastUsedMs],
  )
}
