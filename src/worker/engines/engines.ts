import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type {
  engineDelete,
  EngineInstallMessage,
  ProgressMessage,
  ReportedEngineMessage,
} from '../../api/bus/messages.ts'
import type { EngineProfile } from '../../api/engine-profile.ts'
import { nearNames } from '../../core/lib/near-names.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { Arrivals } from './arrivals.ts'
import { builtInProfiles } from './built-in.ts'
import { deleteEngine, installEngine, upgradeEngine, type ChangeDeps } from './change-engine.ts'
import { comesByItself, describeEngine } from './describe-engine.ts'
import { Installed } from './installed.ts'
import { Operations, type Operation, type Step } from './operations.ts'
import { Profiles } from './profiles.ts'
import { Programs } from './programs.ts'
import type { FetchArchive, Recipe } from './recipe.ts'
import { unlessAborted } from './unless-aborted.ts'

export interface EnginesOptions {
  /** Where engines are installed. */
  folder: string
  /** The folder of the user's own profiles, as YAML. */
  profilesFolder: string
  /** The engines that this node knows without any profile files. */
  builtIn?: readonly EngineProfile[]
  fetchArchive: FetchArchive
  stopReplicas: ChangeDeps['stopReplicas']
  /** The vendor of this machine's GPUs; null without any. */
  gpuVendor?: ChangeDeps['gpuVendor']
  clock: Clock
  log: Logger
  /** Something in the `report` has changed. */
  onChange: () => void
  /** Programs are searched for in its PATH. Commands that install get all of it except Flotilla's own settings. */
  env: NodeJS.ProcessEnv
}

export interface EnsureHooks {
  signal?: AbortSignal
  onProgress?: (progress: ProgressMessage) => void
}

/** How long a look at the disk is reused: a report goes with every heartbeat. */
const LOOK_AGAIN_MS = 10_000
/** The maximum in a heartbeat. */
const MOST_REPORTED = 200

/**
 * The engines of a node: what each one needs, whether its program is installed, and how to install, replace or delete
 * it.
 */
export class Engines {
  readonly #clock: Clock
  readonly #profiles: Profiles
  readonly #installed: Installed
  readonly #programs: Programs
  readonly #operations: Operations
  readonly #arrivals = new Arrivals()
  readonly #changeDeps: ChangeDeps
  #lookedMs = -Infinity

  /** Also deletes what an earlier run of the worker left unfinished. */
  static open(options: EnginesOptions): Engines {
    return new Engines(options)
  }

  private constructor({
    folder,
    profilesFolder,
    builtIn = builtInProfiles,
    fetchArchive,
    stopReplicas,
    gpuVendor = () => null,
    clock,
    log,
    onChange,
    env,
  }: EnginesOptions) {
    this.#clock = clock
    this.#profiles = new Profiles(profilesFolder, builtIn)
    this.#installed = new Installed(folder, log)
    this.#programs = new Programs(this.#installed, env['PATH'])
    this.#operations = new Operations(clock, log, onChange)
    const installed = this.#installed
    const programs = this.#programs
    this.#changeDeps = { installed, programs, fetchArchive, stopReplicas, gpuVendor, clock, env }
  }

  find(name: string): EngineProfile | undefined {
    this.refresh()
    return this.#profiles.get(name)?.profile
  }

  /** Where the profile's program is: in the installed engine's folder, else on this machine. */
  program(profile: EngineProfile): string | undefined {
    this.refresh()
    return this.#programs.find(profile)
  }

  /** Looks at the disk again when the last look is too old, or at once if `now` is set. */
  refresh(now = false): void {
    const nowMs = this.#clock.nowMs()
    if (!now && Math.abs(nowMs - this.#lookedMs) < LOOK_AGAIN_MS) return
    this.#lookedMs = nowMs
    this.#profiles.refresh()
    this.#programs.lookAgain()
  }

  report(): ReportedEngineMessage[] {
    this.refresh()
    const names = new Set([...this.#profiles.names(), ...this.#installed.names(), ...this.#operations.busyEngines()])
    return [...names]
      .toSorted()
      .slice(0, MOST_REPORTED)
      .map((name) => this.#reportOne(name))
  }

  /**
   * Returns the engine's program, after installing it by the profile's recipe when it is missing: once, however many
   * callers there are. Waits for a running operation on the engine. The installation is cancelled when the last waiting
   * caller leaves.
   */
  async ensure(name: string, { signal, onProgress }: EnsureHooks = {}): Promise<string> {
    let hasArrived = false
    for (;;) {
      signal?.throwIfAborted()
      const arrival = this.#arrivals.get(name)
      const busy = this.#operations.last(name)
      if (arrival) {
        await this.#arrivals.join(arrival, signal, onProgress)
        const { state, error } = arrival.operation.message
        if (state === 'failed') {
          const again = `flotilla engines install ${name} tries it again`
          throw new AppError('unavailable', `"${name}" could not be installed (${again}): ${error}`)
        }
        hasArrived = true
      } else if (busy) {
        await unlessAborted(busy.finished, signal)
      } else {
        const profile = this.#usable(name)
        const program = this.#programs.find(profile)
        if (program !== undefined) return program
        const { install } = profile
        if (!install || !comesByItself(profile) || hasArrived)
          throw new AppError('unavailable', this.#reportOne(name).reason ?? 'It is missing.')
        this.#arrivals.begin(name, (tellAll) => this.#installFor(profile, install, tellAll))
      }
    }
  }

  /** Accepts at once; reports show the progress. A repeated command gets the same operation as its answer. */
  install(message: EngineInstallMessage): ReportedEngineMessage {
    return this.#accept('install', message, installEngine)
  }

  upgrade(message: EngineInstallMessage): ReportedEngineMessage {
    return this.#accept('upgrade', message, upgradeEngine)
  }

  remove({ command_id: id, engine }: z.infer<typeof engineDelete>): ReportedEngineMessage {
    const known = this.#operations.find(id)
    if (known) return this.#reportOne(known.engine, known)
    const profile = this.find(engine)
    if (!this.#profiles.get(engine) && !this.#installed.get(engine)) throw this.#unknown(engine)
    const work = (step: Step): Promise<void> => deleteEngine(engine, profile, this.#changeDeps, step)
    return this.#reportOne(engine, this.#start(engine, 'delete', id, work))
  }

  /** Cancels running operations and waits for their end; the engines stay as they were. */
  dispose(): Promise<void> {
    return this.#operations.dispose()
  }

  #accept(
    kind: 'install' | 'upgrade',
    { command_id: id, engine, archive, command }: EngineInstallMessage,
    change: typeof installEngine,
  ): ReportedEngineMessage {
    const known = this.#operations.find(id)
    if (known) return this.#reportOne(known.engine, known)
    const profile = this.#usable(engine)
    if (archive && command) throw new AppError('bad_request', 'Give an archive or a command, not both.')
    const recipe: Recipe | undefined = archive ? { archive } : command ? { command } : profile.install
    if (!recipe) {
      const fix = 'Give an archive with its sha256, or a command.'
      throw new AppError('bad_request', `The profile of "${engine}" does not say how to install it. ${fix}`)
    }
    const work = (step: Step): Promise<void> => change(profile, recipe, this.#changeDeps, step)
    return this.#reportOne(engine, this.#start(engine, kind, id, work))
  }

  #installFor(profile: EngineProfile, recipe: Recipe, tellAll: (progress: ProgressMessage) => void): Operation {
    return this.#start(profile.name, 'install', `auto-${randomUUID()}`, (step) => {
      const onProgress = (progress: ProgressMessage): void => {
        step.onProgress(progress)
        tellAll(progress)
      }
      return installEngine(profile, recipe, this.#changeDeps, { ...step, onProgress })
    })
  }

  /** Whatever the outcome, the disk is read again before the end of the operation is announced. */
  #start(
    engine: string,
    kind: 'install' | 'upgrade' | 'delete',
    id: string,
    work: (step: Step) => Promise<void>,
  ): Operation {
    return this.#operations.start(engine, kind, id, async (step) => {
      try {
        await work(step)
      } finally {
        this.refresh(true)
      }
    })
  }

  #reportOne(name: string, operation = this.#operations.of(name)): ReportedEngineMessage {
    const known = this.#profiles.get(name)
    return describeEngine({
      name,
      known,
      program: known?.profile && this.#programs.find(known.profile),
      installed: this.#installed.get(name),
      running: this.#operations.of(name)?.message,
      operation: operation?.message,
    })
  }

  /** The engine's usable profile; throws what is wrong with it otherwise. */
  #usable(name: string): EngineProfile {
    this.refresh()
    const known = this.#profiles.get(name)
    if (!known) throw this.#unknown(name)
    if (known.profile) return known.profile
    throw new AppError('conflict', `The profile of the engine "${name}" has a mistake: ${known.broken}`)
  }

  #unknown(name: string): AppError {
    const names = this.#profiles.names()
    const near = nearNames(name, names)
    const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : `There are ${names.join(', ')}.`
    return new AppError('not_found', `This node knows no engine "${name}". ${hint}`)
  }
}
