import type { Replica, ReplicaState } from '../types.ts'
import { isEnding, mayMove } from './states.ts'

/** One line of a worker's list of what it runs. */
export interface ReportedReplica {
  id: string
  generation: number
  state: Exclude<ReplicaState, 'reserved'>
  error?: string | undefined
  outOfMemory?: boolean | undefined
}

export interface Judgement {
  /** Rows whose state differs from what the worker reports; the worker is right. */
  moves: { replica: Replica; to: ReplicaState; error: string | null; outOfMemory: boolean }[]
  /** Rows without a process: stopped as asked, or lost. */
  gone: { replica: Replica; lost: boolean }[]
  /** Processes without a row that wants them. The worker is told to stop exactly these. */
  strays: ReportedReplica[]
}

/** Compares one worker's full list (its `seq`-th of this boot) with the rows of that node. */
export function judgeHeartbeat(
  rows: readonly Replica[],
  heartbeat: { seq: number; replicas: readonly ReportedReplica[] },
): Judgement {
  const judgement: Judgement = { moves: [], gone: [], strays: [] }
  const reportedById = new Map(heartbeat.replicas.map((reported) => [reported.id, reported]))
  for (const replica of rows) {
    const reported = reportedById.get(replica.id)
    if (reported?.generation === replica.generation) {
      reportedById.delete(replica.id)
      if (reported.state !== replica.state && mayMove(replica.state, reported.state)) {
        const { state: to, error = null, outOfMemory = false } = reported
        judgement.moves.push({ replica, to, error, outOfMemory })
      }
    } else if (isGone(replica, heartbeat.seq)) {
      judgement.gone.push({ replica, lost: !isEnding(replica.state) })
    }
  }
  judgement.strays.push(...reportedById.values())
  return judgement
}

function isGone(replica: Replica, seq: number): boolean {
  switch (replica.state) {
    case 'reserved':
      return false // The start command has not arrived yet.
    case 'failed':
      return false // Kept without a process, so that the next try waits its time.
    case 'draining':
    case 'stopping':
      // A replica that was never accepted cannot be mentioned by any heartbeat.
      return replica.knownFromSeq === null || seq >= replica.knownFromSeq
    case 'installing':
    case 'staging':
    case 'loading':
    case 'ready':
      return replica.knownFromSeq !== null && seq >= replica.knownFromSeq
  }
}
