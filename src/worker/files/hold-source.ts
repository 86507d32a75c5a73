import { basename, join } from 'node:path'
import { parseSource, showSource, type RemoteSource } from '../../model-files/source/source.ts'
import { AppError } from '../../platform/errors.ts'
import { fetchSource, type FetchSourceDeps } from './fetch-source.ts'
import type { FileProgress } from './store/fetched.ts'
import { idOf } from './store/layout.ts'
import { LocalFiles } from './local-files.ts'
import { noteUse, type Use } from './store/note-use.ts'
import type { ProgressMeter } from './progress-meter.ts'
import { pathInSharedFolder } from './shared-folder.ts'
import { SharedWork } from './shared-work.ts'
import type { Store } from './store/store.ts'

/** Files in the store that are kept until they are released. */
export interface HeldFiles {
  path: string
  bytes: number
  release: () => void
}

/** Folders whose files are used in place. */
export interface LocalFolders {
  /** Holds the files of all models; then nothing is fetched. */
  shared: string | undefined
  /** The models folder of a frontend on this machine. */
  frontend: string | undefined
}

/**
 * Brings sources here, with one transfer for all callers that want the same, and keeps them while any caller holds
 * them.
 */
export class SourceHolder {
  readonly #folders: LocalFolders
  readonly #store: Store
  readonly #deps: FetchSourceDeps
  readonly #local = new LocalFiles()
  readonly #sources = new SharedWork<void>()
  #ended: Error | undefined

  constructor(folders: LocalFolders, store: Store, deps: FetchSourceDeps) {
    this.#folders = folders
    this.#store = store
    this.#deps = deps
  }

  /** Without a model's name the files are not a model's, but for example an engine's. */
  async hold(
    text: string,
    modelName: string | undefined,
    signal: AbortSignal,
    meter: ProgressMeter,
  ): Promise<HeldFiles> {
    if (this.#ended) throw this.#ended
    signal.throwIfAborted()
    const source = parseSource(text)
    const { shared: sharedFolder } = this.#folders
    const use = (path: string, hint: string) => this.#useLocal(path, source.sha256, hint, signal, meter)
    if (source.kind === 'local') return use(source.path, 'Put it there, or correct the source of the model.')
    if (source.kind === 'frontend' && this.#folders.frontend !== undefined) {
      const path = join(this.#folders.frontend, source.path)
      return use(path, `${showSource(text)} is expected there, in the models folder of the frontend on this machine.`)
    }
    // Files that are not a model's are not expected in the models folder.
    if (sharedFolder !== undefined && modelName !== undefined) {
      return use(
        pathInSharedFolder(sharedFolder, source),
        `${showSource(text)} is expected there, in the folder of --shared-models.`,
      )
    }
    return this.#holdRemote(text, source, modelName, signal, meter)
  }

  /** Cancels running transfers and accepts no more. */
  async close(reason: Error): Promise<void> {
    this.#ended ??= reason
    await this.#sources.close(reason)
    await this.#deps.files.close(reason)
  }

  async #useLocal(
    at: string,
    sha256: string | undefined,
    hint: string,
    signal: AbortSignal,
    meter: ProgressMeter,
  ): Promise<HeldFiles> {
    const { path, bytes } = await this.#local.use(at, sha256, hint, signal)
    meter.set(path, { path: basename(path), doneBytes: bytes, totalBytes: bytes, arrivedBytes: 0 })
    return { path, bytes, release: () => {} }
  }

  async #holdRemote(
    text: string,
    source: RemoteSource,
    modelName: string | undefined,
    signal: AbortSignal,
    meter: ProgressMeter,
  ): Promise<HeldFiles> {
    const { lock, claims, layout } = this.#store
    const id = idOf(text)
    const use = { id, label: showSource(text), modelName }
    // Set before the first await: from here on no file of this source is deleted.
    const drop = claims.add(id, modelName)
    try {
      const find = () => lock.run(() => noteUse(this.#store, use))
      let content = await find()
      if (!content) {
        const onProgress = (progress: FileProgress): void => meter.set(id, progress)
        await this.#sources.join(id, { signal, onProgress }, (signal, report) =>
          fetchSource({ ...use, source }, this.#deps, signal, report),
        )
        content = await find()
      }
      if (!content)
        throw new AppError('unavailable', `The files of ${use.label} were deleted by another program. Try again.`)
      for (const { path, size } of content.files) {
        const ofFiles = content.files.length
        meter.set(id, { path, doneBytes: size, totalBytes: size, arrivedBytes: 0, ofFiles })
      }
      const bytes = content.files.reduce((sum, { size }) => sum + size, 0)
      return {
        path: join(layout.tree(content.tree), content.main ?? ''),
        bytes,
        release: () => void this.#release(drop, use),
      }
    } catch (error) {
      drop()
      throw error
    }
  }

  /** Files count as used until their release. */
  async #release(drop: () => boolean, use: Use): Promise<void> {
    const { lock, manifests, clock, log } = this.#store
    const usedAt = clock.nowMs()
    if (!drop() || this.#ended) return
    try {
      await lock.run(async () => {
        const manifest = manifests.get(use.id)
        if (manifest) await manifests.put({ ...manifest, used_at: usedAt })
      })
    } catch (error) {
      log.warn({ err: error, source: use.label }, 'model files: the time of use could not be noted')
    }
  }
}
