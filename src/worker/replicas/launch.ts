import { isAbsolute } from 'node:path'
import type { ProgressMessage, ReplicaStartMessage, ReportedReplicaMessage } from '../../api/bus/messages.ts'
import type { EngineProfile } from '../../api/engine-profile.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { commandLine } from '../engines/command-line.ts'
import { engineEnvironment } from '../engines/engine-environment.ts'
import type { Engines } from '../engines/engines.ts'
import type { ModelFiles, StagedModel } from '../files/model-files.ts'
import type { Journal, JournalEntry } from './journal.ts'
import type { ReplicaLogs } from '../logs/replica-logs.ts'
import type { EnginePorts } from './ports.ts'
import { unconfined, type Confinement } from '../processes/confinement.ts'
import { WORKER_VARIABLE } from '../processes/engine-mark.ts'
import type { EngineHooks, EngineProcess } from '../processes/engine-process.ts'
import { realProcesses, type Processes } from '../processes/processes.ts'
import { memoryComplaint } from '../memory/out-of-memory.ts'
import type { Awaited } from './readiness.ts'

export interface ReplicaDeps {
  ports: EnginePorts
  engines: Pick<Engines, 'find' | 'ensure'>
  files: Pick<ModelFiles, 'stage'>
  logs: Pick<ReplicaLogs, 'write' | 'lastLines' | 'close'>
  journal: Pick<Journal, 'write' | 'remove' | 'removeFolder' | 'list' | 'folderOf' | 'scratchOf'>
  clock: Clock
  log: Logger
  limits: ReplicaLimits
  /** Something a heartbeat should tell has changed. */
  onChange: () => void
  /** A replica has left one of the phases of its start. */
  onPhase?: ((modelName: string, phase: string, seconds: number) => void) | undefined
  /** What an engine is told in its environment besides what its profile says. */
  moreEnvironment?: ((spec: ReplicaStartMessage) => Record<string, string>) | undefined
  /** What its engines carry in their environment, to be found by the next run of this worker. */
  workerMark?: string | undefined
  /** The operating system's, unless somebody brings a machine of his own. */
  processes?: Processes
  /** What engines are started with less than the worker; without it they have all that it has. */
  confinement?: Confinement
}

export interface ReplicaLimits {
  /** How long running requests may take to finish when a replica is stopped. */
  drainMs: number
  /** How long engines outlive a worker that died, for the next one to take them over. */
  orphanGraceMs: number
}

/** An engine that runs for a replica, and what it holds while it does. */
export interface Launched {
  engine: EngineProcess
  port: number
  requestModel: string | undefined
  awaited: Awaited
  /** The line in which it complained about memory, if that was among its last ones. */
  memoryLine(): string | undefined
  /** It serves: a worker that takes it over need not wait again. */
  markReady(): void
  /** The process is gone: gives back its port and its files. */
  release(): void
}

export interface LaunchHooks {
  signal: AbortSignal
  onPhase: (phase: ReportedReplicaMessage['state']) => void
  onProgress: (progress: ProgressMessage) => void
}

/** Gets the program and the model's files, takes a port and starts the engine. What it took is given back if it fails. */
export async function launch(
  spec: ReplicaStartMessage,
  profile: EngineProfile,
  deps: ReplicaDeps,
  hooks: LaunchHooks,
): Promise<Launched> {
  const { signal, onProgress } = hooks
  const { engines, files, ports, journal, processes = realProcesses, confinement = unconfined } = deps
  const program = await engines.ensure(profile.name, { signal, onProgress })
  const { model_name: modelName, options } = spec
  const source = profile.model === 'files' ? spec.source : null
  hooks.onPhase('staging')
  const staged = await files.stage({ modelName, source, options }, { signal, onProgress })
  const key = replicaKey(modelName, spec.replica_index)
  let port: number | undefined
  try {
    port = await ports.take(key)
    signal.throwIfAborted()
    hooks.onPhase('loading')
    const line = commandLine(profile, {
      program,
      port,
      model: modelName,
      options: staged.options,
      modelPath: staged.modelPath,
      source: spec.source,
      devices: spec.devices,
    })
    const entry: JournalEntry = {
      spec,
      profile: { ...profile, ready: line.ready },
      port,
      request_model: line.requestModel ?? null,
      model_bytes: staged.bytes,
      was_ready: false,
    }
    journal.write(spec.id, entry)
    const lines = linesOf(entry, deps)
    const scratch = journal.scratchOf(spec.id)
    confinement.admit(scratch, program, pathsOf(staged))
    const engine = await processes.start(
      {
        argv: confinement.argv(line.argv),
        env: engineEnvironment(process.env, {
          ...line.env,
          ...deps.moreEnvironment?.(spec),
          ...(deps.workerMark === undefined ? {} : { [WORKER_VARIABLE]: deps.workerMark }),
        }),
        cwd: scratch,
        folder: journal.folderOf(spec.id),
      },
      hooksOf(key, lines, deps),
    )
    return running(entry, engine, lines, deps, () => staged.release())
  } catch (error) {
    journal.remove(spec.id)
    if (port !== undefined) ports.release(port)
    staged.release()
    throw error
  }
}

/** The model and what its options name beside it. */
function pathsOf({ modelPath, options }: StagedModel): string[] {
  const named = Object.values(options).filter((value) => typeof value === 'string' && isAbsolute(value))
  return [...(modelPath === undefined ? [] : [modelPath]), ...(named as string[])]
}

/** What is known of an engine that runs, whoever started it. */
export function running(
  entry: JournalEntry,
  engine: EngineProcess,
  lines: Lines,
  deps: ReplicaDeps,
  releaseFiles: () => void,
): Launched {
  const { journal, ports, logs, processes = realProcesses } = deps
  const { spec, profile, port, model_bytes: modelBytes } = entry
  return {
    engine,
    port,
    requestModel: entry.request_model ?? undefined,
    awaited: {
      profile,
      port,
      modelBytes,
      lines,
      memoryBytes: () => processes.memoryBytes(engine.identity),
      listener: () => processes.listener(port, engine.identity),
      answers: processes.answers,
    },
    memoryLine: () => lines.memoryLine(),
    markReady: () => noteReady(entry, deps),
    release() {
      journal.remove(spec.id)
      ports.release(port)
      logs.close(replicaKey(spec.model_name, spec.replica_index))
      releaseFiles()
    },
  }
}

export function linesOf(entry: JournalEntry, deps: ReplicaDeps): Lines {
  return new Lines(entry.profile, () => noteReady(entry, deps))
}

/** A worker that takes the engine over need not wait for it again. Without the note it waits, and nothing worse. */
function noteReady(entry: JournalEntry, { journal, log }: ReplicaDeps): void {
  try {
    journal.write(entry.spec.id, { ...entry, was_ready: true })
  } catch (error) {
    log.warn({ replica: entry.spec.id, error: messageOf(error) }, 'the journal cannot be written')
  }
}

export function hooksOf(key: string, lines: Lines, { clock, logs }: ReplicaDeps): EngineHooks {
  return {
    clock,
    onLine(stream, text) {
      logs.write(key, stream, text)
      lines.add(text)
    },
  }
}

/** A complaint about memory is believed to be the reason of a failure that follows within so many lines. */
const LINES_AFTER_COMPLAINT = 200

/** What an engine has said since its start, as far as it matters for what becomes of the replica. */
export class Lines {
  readonly #pattern: RegExp | undefined
  readonly #onReadyLine: () => void
  #count = 0
  #isReadyPrinted = false
  #complaint: { text: string; at: number } | undefined

  /** `onReadyLine` is called with the very line, before anything can happen to us: it will not come again. */
  constructor({ ready }: Pick<EngineProfile, 'ready'>, onReadyLine: () => void) {
    this.#pattern = 'log' in ready ? new RegExp(ready.log, 'u') : undefined
    this.#onReadyLine = onReadyLine
  }

  add(text: string): void {
    this.#count += 1
    const complaint = memoryComplaint(text)
    // The first of several that follow each other: the later ones are about what came of it.
    if (complaint !== undefined && this.memoryLine() === undefined)
      this.#complaint = { text: complaint, at: this.#count }
    if (this.#isReadyPrinted || !this.#pattern?.test(text)) return
    this.#isReadyPrinted = true
    this.#onReadyLine()
  }

  count(): number {
    return this.#count
  }

  isReadyPrinted(): boolean {
    return this.#isReadyPrinted
  }

  memoryLine(): string | undefined {
    const isRecent = this.#complaint && this.#count - this.#complaint.at <= LINES_AFTER_COMPLAINT
    return isRecent ? this.#complaint!.text : undefined
  }
}
