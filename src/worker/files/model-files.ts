import type { ProgressMessage } from '../../api/bus/messages.ts'
import { companionsOf, type Options } from '../../model-files/source/companions.ts'
import { parseSource } from '../../model-files/source/source.ts'
import { together } from '../../model-files/source/together.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError, toAppError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { FrontendFiles } from './frontend-files.ts'
import { SourceHolder, type HeldFiles } from './hold-source.ts'
import { openStore, wireTransfers, type TransferOptions } from './open-store.ts'
import { ProgressMeter } from './progress-meter.ts'
import { removeSource, type Removed } from './store/removal.ts'
import type { Store } from './store/store.ts'

export interface ModelFilesOptions extends TransferOptions {
  /** Belongs to the worker: no other program may change its content. */
  folder: string
  /** Holds the files of all models; then nothing is fetched. */
  sharedFolder?: string | undefined
  /** The models folder of a frontend on this machine; its files are used in place. */
  frontendFolder?: string | undefined
  frontend: FrontendFiles
  clock: Clock
  log: Logger
}

export interface ModelToStage {
  modelName: string
  /** Null: the engine needs no files, or fetches them itself. */
  source: string | null
  options: Options
}

export interface Waiting {
  signal: AbortSignal
  /** Called at most four times a second. */
  onProgress: (progress: ProgressMessage) => void
}

export interface StagedModel {
  /** The main file, or the folder of a repository. */
  modelPath: string | undefined
  /** The model's options, with paths in place of sources. */
  options: Options
  bytes: number
  release: () => void
}

/**
 * The model files of this node: fetched once, stored by digest, deleted when no model needs them. A complete source is
 * used without asking its origin: a start needs no network, and all replicas on the node run the same bytes. A newer
 * version at the origin is fetched only after the model's files are deleted or its source changes.
 */
export class ModelFiles {
  readonly #store: Store
  readonly #holder: SourceHolder

  private constructor(store: Store, holder: SourceHolder) {
    this.#store = store
    this.#holder = holder
  }

  static async open(options: ModelFilesOptions): Promise<ModelFiles> {
    const store = await openStore(options)
    const folders = { shared: options.sharedFolder, frontend: options.frontendFolder }
    return new ModelFiles(store, new SourceHolder(folders, store, wireTransfers(options, store)))
  }

  /**
   * Brings all files of a model here, and keeps them until they are released. After a restart of the worker, stage them
   * again.
   */
  async stage({ modelName, source, options }: ModelToStage, { signal, onProgress }: Waiting): Promise<StagedModel> {
    const companions = companionsOf(options)
    const sources = new Set([...(source === null ? [] : [source]), ...companions.map(([, text]) => text)])
    const meter = new ProgressMeter(this.#store.clock, onProgress, sources.size)
    const held: HeldFiles[] = []
    const releaseAll = (): void => held.forEach(({ release }) => release())
    const hold = (text: string, option?: string) => async (signal: AbortSignal) => {
      const files = await this.#holder.hold(text, modelName, signal, meter).catch((error: unknown) => {
        throw option === undefined || signal.aborted ? error : ofOption(option, error)
      })
      held.push(files)
      return files
    }
    try {
      const main = source === null ? [] : [hold(source)]
      const files = await together([...main, ...companions.map(([name, text]) => hold(text, name))], signal)
      const modelPath = source === null ? undefined : files.shift()!.path
      const staged = Object.fromEntries(companions.map(([name], index) => [name, files[index]!.path]))
      const bytes = held.reduce((sum, { bytes }) => sum + bytes, 0)
      return { modelPath, options: { ...options, ...staged }, bytes, release: releaseAll }
    } catch (error) {
      releaseAll()
      throw error
    } finally {
      meter.dispose()
    }
  }

  /**
   * Fetches one file that is not a model's, such as an engine's archive. It may be deleted a week after its release.
   */
  async fetch(source: string, { signal, onProgress }: Waiting): Promise<HeldFiles> {
    const parsed = parseSource(source)
    if (parsed.kind === 'hub' && parsed.path === undefined) {
      throw new AppError('bad_request', `${source} is a whole repository; a single file was expected.`)
    }
    const meter = new ProgressMeter(this.#store.clock, onProgress)
    try {
      return await this.#holder.hold(source, undefined, signal, meter)
    } finally {
      meter.dispose()
    }
  }

  /** Deletes a model's files; files that other models need stay. Refused while the model is in use. */
  delete(modelName: string): Promise<Removed> {
    const { lock, claims, manifests } = this.#store
    return lock.run(async () => {
      if (claims.hasModel(modelName)) {
        throw new AppError('conflict', `The files of ${modelName} are in use on this node. Stop its replicas first.`)
      }
      const sum: Removed = { files: 0, freedBytes: 0 }
      for (const manifest of manifests.all().filter(({ models }) => models.includes(modelName))) {
        const models = manifest.models.filter((name) => name !== modelName)
        if (models.length > 0 || claims.hasSource(manifest.id)) {
          await manifests.put({ ...manifest, models })
          continue
        }
        const { files, freedBytes } = await removeSource(this.#store, manifest.id)
        sum.files += files
        sum.freedBytes += freedBytes
      }
      return sum
    })
  }

  /** Stops all transfers; partial files stay for the next run. */
  async dispose(): Promise<void> {
    await this.#holder.close(new AppError('unavailable', 'This node is stopping.'))
    await this.#store.lock.run(async () => {})
  }
}

function ofOption(name: string, error: unknown): AppError {
  const { code, message } = toAppError(error)
  return new AppError(code, `The option "${name}" of the model: ${message}`, { cause: error })
}
