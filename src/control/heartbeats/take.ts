import { isDeepStrictEqual } from 'node:util'
import type { HeartbeatMessage, ReportedReplicaMessage } from '../../api/bus/messages.ts'
import { freedAfter, type EndsAndReading } from '../../core/lifecycle/freed.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import { judgeHeartbeat, type Judgement, type ReportedReplica } from '../../core/lifecycle/judge-heartbeat.ts'
import type { Database, Sql } from '../../store/sql.ts'
import { appendEvent, type NewEvent } from '../../store/nouns/events.ts'
import { checkLease, type HeldLease } from '../../store/nouns/leases.ts'
import { readFreed, saveFreed } from '../../store/nouns/nodes.ts'
import { readBeforeHeartbeats, recordHeartbeat, type BeforeHeartbeat } from '../../store/nouns/node-heartbeats.ts'
import {
  deleteReplica,
  listReplicas,
  listReplicasOfNode,
  moveReplica,
  recordLoad,
  type ReportedLoad,
  type StoredReplica,
} from '../../store/nouns/replicas.ts'
import type { ControlEvents } from '../turn/narrate.ts'
import { learn } from './learn.ts'
import { replicaFailed, replicaLost, replicaReady } from '../turn/replica-events.ts'

export interface HeartbeatFrom {
  nodeId: string
  heartbeat: HeartbeatMessage
}

export interface HeartbeatOutcome {
  nodeId: string
  /** The store changed in a way that decisions look at. */
  changed: boolean
  /** It has more free than before: what waits for room may find it. */
  roomier: boolean
  /** Events were appended. */
  told: boolean
  /** Nothing was written that a turn reads, but for when it was heard. */
  isSame: boolean
  /** When it was heard, by the store's clock. */
  heardMs: number
  strays: ReportedReplica[]
}

/** Writes what workers report of their processes into the store, all or nothing, and only while we lead. */
export async function takeHeartbeats(
  db: Database,
  lease: HeldLease,
  events: ControlEvents,
  heartbeats: readonly HeartbeatFrom[],
): Promise<HeartbeatOutcome[]> {
  const taken = await db.transaction(async (tx) => {
    await checkLease(tx, lease)
    const [row] = await tx.query<{ now: number }>('select now_ms() as now')
    const before = await readBefore(tx, heartbeats)
    const all: Taken[] = []
    for (const from of heartbeats) {
      const one = await take(tx, from, before, row!.now)
      if (one) all.push(one)
    }
    return all
  })
  for (const { judgement, name, back } of taken) {
    if (back) events.nodeLiveness(name, 'online')
    for (const { replica, to, error } of judgement.moves) events.replicaMoved(replica, to, error)
    for (const { replica, lost } of judgement.gone) events.replicaGone(replica, lost)
  }
  return taken.map(({ nodeId, back, otherEngines, roomier, isMeasured, isRead, isSame, heardMs, told, judgement }) => ({
    nodeId,
    roomier,
    changed: back || otherEngines || isMeasured || isRead || judgement.moves.length + judgement.gone.length > 0,
    told: told > 0,
    isSame,
    heardMs,
    strays: judgement.strays,
  }))
}

/** A heartbeat that repeats the one before it does not make a turn read its node again. */
export function changedNodes(outcomes: readonly HeartbeatOutcome[]): string[] {
  return outcomes.flatMap(({ nodeId, isSame }) => (isSame ? [] : [nodeId]))
}

interface Taken {
  nodeId: string
  name: string
  back: boolean
  otherEngines: boolean
  roomier: boolean
  /** More is known of what its replicas take. */
  isMeasured: boolean
  /** What ended replicas held is now in the reading of its memory, or is no longer waited for. */
  isRead: boolean
  isSame: boolean
  heardMs: number
  /** How many events were appended. */
  told: number
  judgement: Judgement
}

/** What was read already; a node that is missing is read when its time comes. */
interface Before {
  nodes: ReadonlyMap<string, BeforeHeartbeat>
  replicasOf: (nodeId: string) => Promise<StoredReplica[]> | StoredReplica[]
}

/**
 * Of all nodes in one statement: to ask for each by itself takes as long as all the rest. What one heartbeat writes
 * belongs to its node alone, so that the rows of the others stay true; of a node with two of them the rows are read anew.
 */
async function readBefore(tx: Sql, heartbeats: readonly HeartbeatFrom[]): Promise<Before> {
  const nodeIds = new Set(heartbeats.map(({ nodeId }) => nodeId))
  const isTwice = nodeIds.size < heartbeats.length
  if (isTwice) return { nodes: new Map(), replicasOf: (nodeId) => listReplicasOfNode(tx, nodeId) }
  const replicas = Map.groupBy(await listReplicas(tx, nodeIds), ({ nodeId }) => nodeId)
  return { nodes: await readBeforeHeartbeats(tx, nodeIds), replicasOf: (nodeId) => replicas.get(nodeId) ?? [] }
}

async function take(
  tx: Sql,
  { nodeId, heartbeat }: HeartbeatFrom,
  before: Before,
  nowMs: number,
): Promise<Taken | undefined> {
  const {
    boot_id: bootId,
    run_id: runId = null,
    seq,
    replicas,
    is_returned: isReturned = false,
    unread,
    ...facts
  } = heartbeat
  const recorded = await recordHeartbeat(tx, { nodeId, bootId, runId, seq, ...facts }, before.nodes.get(nodeId))
  if (!recorded) return undefined
  const { rows, isMeasured, isWritten } = await takeLoad(tx, await before.replicasOf(nodeId), heartbeat, nowMs)
  const judgement = judgeHeartbeat(rows, {
    seq,
    replicas: replicas.map((report) => ({ ...report, outOfMemory: report.out_of_memory })),
  })
  if (isReturned) judgement.strays = inTheWay(judgement.strays, replicas, rows)
  for (const { replica, to, error, outOfMemory } of judgement.moves) {
    // A heartbeat may be quicker than the answer to the start that it mentions.
    await moveReplica(tx, replica, { to, error, knownFromSeq: replica.knownFromSeq ?? seq, outOfMemory })
  }
  if (isMeasured || judgement.moves.length > 0) await learn(tx, nodeId, judgement)
  for (const { replica } of judgement.gone) await deleteReplica(tx, replica)
  const news = newsOf(nodeId, recorded, judgement, heartbeat)
  for (const event of news) await appendEvent(tx, event)
  const failed = judgement.moves.flatMap(({ replica, to }) => (to === 'failed' ? [replica] : []))
  const ended = [...judgement.gone.map(({ replica }) => replica), ...failed]
  const isRead = await takeFreed(tx, nodeId, recorded.freed, { ended, unread, nowMs })
  const isSame = recorded.isSame && !isWritten && !isRead && judgement.moves.length + judgement.gone.length === 0
  return { nodeId, ...recorded, isRead, isSame, heardMs: nowMs, told: news.length, isMeasured, judgement }
}

/** In most heartbeats nothing ends and nothing is waited for. */
async function takeFreed(tx: Sql, nodeId: string, text: string | null, now: EndsAndReading): Promise<boolean> {
  if (text === null && now.ended.length === 0) return false
  const before = readFreed(text)
  const after = freedAfter(before, now)
  if (after === before) return false
  await saveFreed(tx, nodeId, after)
  return true
}

/**
 * What a node runs that the store had lost may be right: a backup that knows it may still be imported. Only a process in
 * the place of a replica that the rows want is stopped.
 */
function inTheWay(
  strays: Judgement['strays'],
  reported: readonly ReportedReplicaMessage[],
  rows: readonly StoredReplica[],
): Judgement['strays'] {
  const wanted = new Set(rows.map(({ modelName, replicaIndex }) => replicaKey(modelName, replicaIndex)))
  const keys = new Map(reported.map((one) => [one.id, replicaKey(one.model_name, one.replica_index)]))
  return strays.filter(({ id }) => wanted.has(keys.get(id)!))
}

/** The events for people: nodes that come back, replicas that serve, and those that ended unasked. */
function newsOf(
  nodeId: string,
  { name, back }: { name: string; back: boolean },
  { moves, gone }: Judgement,
  { replicas }: HeartbeatMessage,
): NewEvent[] {
  const exits = new Map(replicas.map(({ id, exit }) => [id, exit]))
  const online = { actor: 'control', action: 'node.online', nodeId, reason: `${name} is heard` }
  return [
    ...(back ? [online] : []),
    ...moves.flatMap(({ replica, to, error }) => {
      if (to === 'ready') return replicaReady(replica, name)
      return to === 'failed' ? replicaFailed(replica, name, error, exits.get(replica.id) ?? null) : []
    }),
    ...gone.flatMap(({ replica, lost }) => (lost ? replicaLost(replica, name, `${name} no longer runs it`) : [])),
  ]
}

/** Times of use are rounded to this: no decision needs more, and a busy replica would be written at every heartbeat. */
const USED_STEP_MS = 5000

/** Written only where it changed: most replicas of most heartbeats are as busy as before. Returns the rows as they are now. */
async function takeLoad(
  tx: Sql,
  rows: readonly StoredReplica[],
  { replicas }: HeartbeatMessage,
  nowMs: number,
): Promise<{ rows: StoredReplica[]; isMeasured: boolean; isWritten: boolean }> {
  const reported = new Map(replicas.map((replica) => [replica.id, replica]))
  const taken: StoredReplica[] = []
  let isMeasured = false
  let isWritten = false
  for (const replica of rows) {
    const report = reported.get(replica.id)
    const now = report?.generation === replica.generation ? loadOf(replica, report, nowMs) : unmentioned(replica)
    const isOtherMemory = !isDeepStrictEqual(now.measured, replica.measured)
    if (isOtherMemory || !isSameLoad(now, replica)) {
      await recordLoad(tx, replica.id, now)
      isWritten = true
    }
    isMeasured ||= now.measured !== null && isOtherMemory
    taken.push({ ...replica, ...now })
  }
  return { rows: taken, isMeasured, isWritten }
}

/** Beside its memory. Most fields are null in most heartbeats, and every replica of every heartbeat comes through here. */
function isSameLoad(a: ReportedLoad, b: ReportedLoad): boolean {
  const isSameUse = a.inFlight === b.inFlight && a.lastUsedMs === b.lastUsedMs
  return isSameUse && isDeepStrictEqual(a.progress, b.progress) && isDeepStrictEqual(a.lastExit, b.lastExit)
}

function loadOf(replica: StoredReplica, report: ReportedReplicaMessage, nowMs: number): ReportedLoad {
  const usedMs = report.idle_ms === null ? null : nowMs - report.idle_ms
  const isNews = usedMs !== null && usedMs - (replica.lastUsedMs ?? 0) >= USED_STEP_MS
  return {
    inFlight: report.in_flight,
    progress: report.progress,
    lastExit: report.exit,
    measured: report.memory ?? replica.measured,
    lastUsedMs: isNews ? usedMs : replica.lastUsedMs,
  }
}

/** A replica that is not mentioned has no requests; its exit stays known. */
function unmentioned({ lastExit, measured, lastUsedMs }: StoredReplica): ReportedLoad {
  return { inFlight: 0, progress: null, lastExit, measured, lastUsedMs }
}
