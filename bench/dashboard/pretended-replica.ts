import type { ReplicaStartMessage, ReportedReplicaMessage } from '../../src/api/bus/messages.ts'

export interface PretendedReplica {
  key: string
  report: ReportedReplicaMessage
  /** Its files arrive until then, and it loads for a tenth as long. */
  stagedMs: number
  readyMs: number
  startedMs: number
  devices: readonly number[]
  fails: boolean
}

const GIB = 1024 ** 3
const FILE_BYTES = 8 * GIB
const MOST_IN_FLIGHT = 9

/** A replica that has just been asked for. `stage_s` of its model says how long its files take, `fails` that it will not start. */
export function newReplica(start: ReplicaStartMessage): PretendedReplica {
  const { id, generation, model_name: modelName, replica_index: index, options } = start
  const nowMs = Date.now()
  const stageMs = Number(options['stage_s'] ?? 2) * 1000 * (0.5 + Math.random())
  return {
    key: `${modelName}#${index}`,
    startedMs: nowMs,
    stagedMs: nowMs + stageMs,
    readyMs: nowMs + stageMs * 1.1 + 500,
    devices: start.devices ?? [],
    fails: options['fails'] === true,
    report: {
      id,
      generation,
      model_name: modelName,
      replica_index: index,
      state: 'installing',
      in_flight: 0,
      progress: null,
      exit: null,
      memory: null,
      idle_ms: null,
      out_of_memory: false,
    },
  }
}

/** What it is by now. */
export function grow(replica: PretendedReplica, nowMs: number): void {
  const { report } = replica
  if (report.state === 'failed') return
  if (nowMs < replica.stagedMs) {
    report.state = 'staging'
    const share = (nowMs - replica.startedMs) / (replica.stagedMs - replica.startedMs)
    report.progress = {
      file: 'model.gguf',
      done_bytes: Math.floor(FILE_BYTES * share),
      total_bytes: FILE_BYTES,
      bytes_per_s: Math.floor((FILE_BYTES * 1000) / (replica.stagedMs - replica.startedMs)),
    }
  } else if (replica.fails) {
    report.state = 'failed'
    report.progress = null
    report.error = 'the engine ended with exit code 1 while it was loading the model'
    report.exit = { code: 1, signal: null, last_lines: ['loading model.gguf', 'error: tensor blk.17 is damaged'] }
  } else {
    report.progress = null
    report.state = nowMs < replica.readyMs ? 'loading' : 'ready'
    report.memory = { devices: replica.devices.map((index) => ({ index, bytes: 5 * GIB })), ram: GIB }
    if (report.state === 'ready') {
      report.in_flight = Math.max(0, Math.floor(Math.random() * 2 * MOST_IN_FLIGHT) - MOST_IN_FLIGHT)
      report.idle_ms = report.in_flight > 0 ? 0 : 1000
    }
  }
}
