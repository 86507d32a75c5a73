import { MOST_HEARTBEAT_BYTES } from '../../api/bounds.ts'
import type {
  HeartbeatMessage,
  ProgressMessage,
  ReportedEngineMessage,
  ReportedReplicaMessage,
} from '../../api/bus/messages.ts'
import type { PullReport } from '../../api/reports.ts'
import { cutText } from '../../core/lib/cut-text.ts'

/**
 * A worker's report is cut here, far below the limits of the messages: control refuses a message that exceeds one as a
 * whole, and a node whose heartbeats are refused counts as gone.
 */

/** Errors include the last lines of an engine. */
const MOST_ERROR_CHARS = 16_384
const MOST_LINE_CHARS = 2000
const MOST_FILE_CHARS = 1000
const MOST_STOPPED = 1000
/** In a heartbeat that would otherwise be too large. */
const MOST_SHORT_CHARS = 200

/**
 * Cuts a heartbeat to what control accepts: texts are shortened, and a very large one loses the last lines of engines.
 */
export function fitHeartbeat(heartbeat: HeartbeatMessage, mostBytes = MOST_HEARTBEAT_BYTES): HeartbeatMessage {
  const { replicas, engines } = heartbeat
  const fitting = { ...heartbeat, replicas: replicas.map(fitReplica), engines: engines.map(fitEngine) }
  if (Buffer.byteLength(JSON.stringify(fitting)) <= mostBytes) return fitting
  return { ...fitting, replicas: fitting.replicas.map(shorten), engines: fitting.engines.map(shortenEngine) }
}

export function fitEngine(engine: ReportedEngineMessage): ReportedEngineMessage {
  const { reason, operation } = engine
  return {
    ...engine,
    reason: reason && fitText(reason, MOST_ERROR_CHARS),
    operation: operation && {
      ...operation,
      error: operation.error && fitText(operation.error, MOST_ERROR_CHARS),
      stopped: operation.stopped.slice(0, MOST_STOPPED),
      progress: fitProgress(operation.progress),
    },
  }
}

export function fitPull(pull: PullReport): PullReport {
  return { ...pull, error: pull.error && fitText(pull.error, MOST_ERROR_CHARS), progress: fitProgress(pull.progress) }
}

function fitReplica(replica: ReportedReplicaMessage): ReportedReplicaMessage {
  const { error, exit, progress } = replica
  return {
    ...replica,
    ...(error === undefined ? {} : { error: fitText(error, MOST_ERROR_CHARS) }),
    exit: exit && { ...exit, last_lines: exit.last_lines.map((line) => fitText(line, MOST_LINE_CHARS)) },
    progress: fitProgress(progress),
  }
}

function shorten(replica: ReportedReplicaMessage): ReportedReplicaMessage {
  const { error, exit } = replica
  return {
    ...replica,
    ...(error === undefined ? {} : { error: fitText(error, MOST_SHORT_CHARS) }),
    exit: exit && { ...exit, last_lines: [] },
  }
}

function shortenEngine(engine: ReportedEngineMessage): ReportedEngineMessage {
  const { reason, operation } = engine
  const error = operation?.error && fitText(operation.error, MOST_SHORT_CHARS)
  return {
    ...engine,
    reason: reason && fitText(reason, MOST_SHORT_CHARS),
    operation: operation && { ...operation, error: error ?? null, stopped: [] },
  }
}

/** The store cannot hold NUL, which an engine may print. */
function fitText(text: string, most: number): string {
  return cutText(text.replaceAll('\0', '\uFFFD'), most)
}

function fitProgress(progress: ProgressMessage | null): ProgressMessage | null {
  if (!progress?.file) return progress
  return { ...progress, file: fitText(progress.file, MOST_FILE_CHARS) }
}
