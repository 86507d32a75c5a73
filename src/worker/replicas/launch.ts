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
  /** The next heartbeat has something new to report. */
  onChange: () => void
  /** A replica has completed a phase of its start. */
  onPhase?: ((modelName: string, phase: string, seconds: number) => void) | undefined
  /** Environment variables for an engine in addition to its profile's. */
  moreEnvironment?: ((spec: ReplicaStartMessage) => Record<string, string>) | undefined
  /** A mark in the environment of its engines, by which the next run of this worker finds them. */
  workerMark?: string | undefined
  /** The operating system's; the simulator passes its own. */
  processes?: Processes
  /** Reduces the rights of engines; without it they have all of the worker's. */
  confinement?: Confinement
}

export interface ReplicaLimits {
  /** How long running requests may take to finish when a replica is stopped. */
  drainMs: number
  /** How long engines outlive a dead worker, so that the next one can adopt them. */
  orphanGraceMs: number
}

/** A replica's running engine, and the resources that it holds. */
export interface Launched {
  engine: EngineProcess
  port: number
  requestModel: string | undefined
  awaited: Awaited
  /** The line in which the engine complained about memory, if it was among the last ones. */
  memoryLine(): string | undefined
  /** The replica serves: a worker that adopts it need not wait again. */
  markReady(): void
  /** The process is gone: releases its port and its files. */
  release(): void
}

export interface LaunchHooks {
  signal: AbortSignal
  onPhase: (phase: ReportedReplicaMessage['state']) => void
  onProgress: (progress: ProgressMessage) => void
}

/** Gets the program and the model's files, takes a port and starts the engine. Releases all of them if it fails. */
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

/** The model's path, and those of the files that its options name. */
function pathsOf({ modelPath, options }: StagedModel): string[] {
  const named = Object.values(options).filter((value) => typeof value === 'string' && isAbsolute(value))
  return [...(modelPath === undefined ? [] : [modelPath]), ...(named as string[])]
}

/** The bookkeeping of a running engine, newly started or adopted. */
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

/** A worker that adopts the engine need not wait for it again. If the note fails, it waits; nothing worse. */
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

/** A complaint about memory counts as the reason of a failure that follows within this many lines. */
const LINES_AFTER_COMPLAINT = 200

/** What an engine has printed since its start, as far as it decides about the replica. */
export class Lines {
  readonly #pattern: RegExp | undefined
  readonly #onReadyLine: () => void
  #count = 0
  #isReadyPrinted = false
  #complaint: { text: string; at: number } | undefined

  /**
   * `onReadyLine` is called synchronously with the line: a later crash could lose it, and the engine does not print it
   * again.
   */
  constructor({ ready }: Pick<EngineProfile, 'ready'>, onReadyLine: () => void) {
    this.#pattern = 'log' in ready ? new RegExp(ready.log, 'u') : undefined
    this.#onReadyLine = onReadyLine
  }

  add(text: string): void {
    this.#count += 1
    const complaint = memoryComplaint(text)
    // Keeps the first of several consecutive complaints: the later ones are about its consequences.
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
