import type { HeartbeatMessage } from '../api/bus/messages.ts'
import { judgeHeartbeat, type Judgement, type ReportedReplica } from '../core/lifecycle/judge-heartbeat.ts'
import type { Database, Sql } from '../store/database.ts'
import { appendEvent } from '../store/events.ts'
import { checkLease, type HeldLease } from '../store/leases.ts'
import { recordHeartbeat } from '../store/nodes.ts'
import {
  deleteReplica,
  listReplicasOfNode,
  moveReplica,
  recordInFlight,
  type StoredReplica,
} from '../store/replicas.ts'
import type { ControlEvents } from './events.ts'

export interface HeartbeatFrom {
  nodeId: string
  heartbeat: HeartbeatMessage
}

export interface HeartbeatOutcome {
  nodeId: string
  /** The store changed in a way that decisions look at. */
  changed: boolean
  /** The node was silent or new until now. */
  back: boolean
  strays: ReportedReplica[]
}

/** Takes workers' words on their processes into the store, all or nothing, and only while we lead. */
export async function takeHeartbeats(
  db: Database,
  lease: HeldLease,
  events: ControlEvents,
  heartbeats: readonly HeartbeatFrom[],
): Promise<HeartbeatOutcome[]> {
  const taken = await db.transaction(async (tx) => {
    await checkLease(tx, lease)
    const all: Taken[] = []
    for (const { nodeId, heartbeat } of heartbeats) {
      const one = await take(tx, nodeId, heartbeat)
      if (one) all.push(one)
    }
    return all
  })
  for (const { judgement, name, back } of taken) {
    if (back) events.nodeLiveness(name, 'online')
    for (const { replica, to, error } of judgement.moves) events.replicaMoved(replica, to, error)
    for (const { replica, lost } of judgement.gone) events.replicaGone(replica, lost)
  }
  return taken.map(({ nodeId, back, judgement }) => ({
    nodeId,
    back,
    changed: back || judgement.moves.length + judgement.gone.length > 0,
    strays: judgement.strays,
  }))
}

interface Taken {
  nodeId: string
  name: string
  back: boolean
  judgement: Judgement
}

async function take(tx: Sql, nodeId: string, heartbeat: HeartbeatMessage): Promise<Taken | undefined> {
  const { boot_id: bootId, seq, replicas, ...hardware } = heartbeat
  const recorded = await recordHeartbeat(tx, { nodeId, bootId, seq, ...hardware })
  if (!recorded) return undefined
  const rows = await listReplicasOfNode(tx, nodeId)
  await recordLoad(tx, rows, heartbeat)
  const judgement = judgeHeartbeat(rows, { seq, replicas })
  for (const { replica, to, error } of judgement.moves) {
    // A heartbeat may be quicker than the answer to the start that it mentions.
    await moveReplica(tx, replica, { to, error, knownFromSeq: replica.knownFromSeq ?? seq })
  }
  for (const { replica } of judgement.gone) await deleteReplica(tx, replica)
  if (recorded.back) {
    const reason = `${recorded.name} is heard`
    await appendEvent(tx, { actor: 'control', action: 'node.online', nodeId, reason })
  }
  return { nodeId, ...recorded, judgement }
}

/** Written only where it changed: most replicas of most heartbeats are as busy as before. */
async function recordLoad(tx: Sql, rows: readonly StoredReplica[], { replicas }: HeartbeatMessage): Promise<void> {
  const reported = new Map(replicas.map((replica) => [replica.id, replica]))
  for (const { id, generation, inFlight } of rows) {
    const report = reported.get(id)
    const now = report?.generation === generation ? report.in_flight : 0
    if (now !== inFlight) await recordInFlight(tx, id, now)
  }
}
