import type { HeartbeatMessage, ReportedReplicaMessage } from '../src/api/bus/messages.ts'
import type { Judgement } from '../src/core/lifecycle/judge-heartbeat.ts'
import { learnMemory } from '../src/core/lifecycle/learn.ts'
import type { ReportedLoad, StoredReplica } from '../src/store/replicas.ts'
import type { Ground } from './ground.ts'

/** As src/control/heartbeats.ts and learn.ts, one transaction. Undefined when the heartbeat is not taken in. */
export function takeHeartbeat(
  { store, parts, queue }: Ground,
  nodeId: string,
  heartbeat: HeartbeatMessage,
): (Judgement & { isNews: boolean }) | undefined {
  const { seq, replicas } = heartbeat
  const recorded = store.nodes.recordHeartbeat(nodeId, heartbeat)
  if (recorded === 'ignored') return undefined
  const reported = new Map(replicas.map((report) => [report.id, report]))
  let isMeasured = false
  for (const row of store.replicasOfNode(nodeId)) {
    const report = reported.get(row.id)
    const load = report?.generation === row.generation ? loadOf(row, report, queue.nowMs) : { ...row, inFlight: 0 }
    const { inFlight, progress, lastExit, measured, lastUsedMs } = load
    isMeasured ||= measured !== null && JSON.stringify(measured) !== JSON.stringify(row.measured)
    store.recordLoad(row.id, { inFlight, progress, lastExit, measured, lastUsedMs })
  }
  const judgement = parts.judgeHeartbeat(store.replicasOfNode(nodeId), {
    seq,
    replicas: replicas.map((report) => ({ ...report, outOfMemory: report.out_of_memory })),
  })
  for (const { replica, to, error, outOfMemory } of judgement.moves) {
    store.moveReplica(replica, { to, error, knownFromSeq: replica.knownFromSeq ?? seq, outOfMemory })
  }
  if (isMeasured || judgement.moves.length > 0) learn({ store }, nodeId)
  for (const { replica } of judgement.gone) store.deleteReplica(replica)
  const isNews = recorded === 'news' || isMeasured || judgement.moves.length + judgement.gone.length > 0
  return { ...judgement, isNews }
}

function loadOf(row: StoredReplica, report: ReportedReplicaMessage, nowMs: number): ReportedLoad {
  return {
    inFlight: report.in_flight,
    progress: report.progress,
    lastExit: report.exit,
    measured: report.memory ?? row.measured,
    lastUsedMs: report.idle_ms === null ? row.lastUsedMs : Math.max(row.lastUsedMs ?? 0, nowMs - report.idle_ms),
  }
}

function learn({ store }: Pick<Ground, 'store'>, nodeId: string): void {
  const node = store.nodes.find(nodeId)!
  for (const replica of store.replicasOfNode(nodeId)) {
    const model = store.models.get(replica.modelName)
    const learned = model && learnMemory(replica, node, model, store.listLearned())
    if (learned) store.saveLearned(learned)
  }
}
