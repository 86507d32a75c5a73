import { rm, stat } from 'node:fs/promises'
import type { RemoteSource } from '../../model-files/source/source.ts'
import { together } from '../../model-files/source/together.ts'
import type { Wanted } from '../../model-files/source/wanted.ts'
import { fetchFile, partId, type FetchFileDeps } from './fetch-file.ts'
import type { Fetched, FileProgress } from './store/fetched.ts'
import { resolveSource, type ResolveDeps } from './resolve.ts'
import type { SharedWork } from './shared-work.ts'
import { sweep } from './store/sweep.ts'
import { buildTree } from './store/trees.ts'

export interface FetchSourceDeps extends FetchFileDeps, ResolveDeps {
  /** By the id of the partial file: two sources may want the same file. */
  files: SharedWork<Fetched>
}

/** Brings all files of a source into the store and marks its manifest, which exists, as complete. */
export async function fetchSource(
  { id, label, source }: { id: string; label: string; source: RemoteSource },
  deps: FetchSourceDeps,
  signal: AbortSignal,
  report: (progress: FileProgress) => void,
): Promise<void> {
  const { store, space, clock } = deps
  const beganAtMs = clock.nowMs()
  await store.lock.run(() => sweep(store))
  const { files, main } = await resolveSource(source, deps, signal)
  await store.claims.whileFetching(async () => {
    const missing = await store.lock.run(() => missingBytes(files, deps))
    const ofFiles = files.length
    for (const { path, size } of files) {
      report({ path, doneBytes: 0, totalBytes: size ?? null, arrivedBytes: 0, ofFiles })
    }
    const fetched = await space.withRoom(label, missing, async (reservation) => {
      const onProgress = (progress: FileProgress): void => {
        const { path, doneBytes, totalBytes, arrivedBytes } = progress
        // Until bytes arrive, the existing part is only being read again and needs no more room than it has.
        if (arrivedBytes > 0 && missing.has(path)) reservation.set(path, totalBytes! - doneBytes)
        report({ ...progress, ofFiles })
      }
      const fetchOne = (wanted: Wanted) => (signal: AbortSignal) => fetchShared(wanted, id, deps, signal, onProgress)
      return together(files.map(fetchOne), signal)
    })
    await store.lock.run(() => complete(id, main, fetched, files, deps))
  })
  store.log.info({ source: label, files: files.length, took_ms: clock.nowMs() - beganAtMs }, 'model files: fetched')
}

/**
 * How many bytes of each file of known size are still to come; from here on its blob is not deleted. Needs the lock.
 */
async function missingBytes(files: readonly Wanted[], { store }: FetchSourceDeps): Promise<Map<string, number>> {
  const { layout, claims } = store
  const missing = new Map<string, number>()
  for (const wanted of files) {
    if (wanted.sha256 !== undefined) claims.pin(wanted.sha256)
    if (wanted.size === undefined) continue
    const present = [layout.part(partId(wanted)), ...(wanted.sha256 === undefined ? [] : [layout.blob(wanted.sha256)])]
    const sizes = await Promise.all(
      present.map((path) =>
        stat(path).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
    )
    missing.set(wanted.path, Math.max(0, wanted.size - Math.max(...sizes)))
  }
  return missing
}

/** Callers that want the same file share one transfer; each one sees its progress under its own name for the file. */
async function fetchShared(
  wanted: Wanted,
  sourceId: string,
  deps: FetchSourceDeps,
  signal: AbortSignal,
  report: (progress: FileProgress) => void,
): Promise<Fetched> {
  const { path } = wanted
  const onProgress = (progress: FileProgress): void => report({ ...progress, path })
  const fetched = await deps.files.join(partId(wanted), { signal, onProgress }, (signal, report) =>
    fetchFile(wanted, sourceId, deps, signal, report),
  )
  return { ...fetched, path }
}

async function complete(
  id: string,
  main: string | null,
  fetched: Fetched[],
  files: readonly Wanted[],
  { store }: FetchSourceDeps,
): Promise<void> {
  const { manifests, layout, clock } = store
  const manifest = manifests.get(id)
  // The source's models were deleted at the moment in which the last waiter left.
  if (!manifest) return
  const tree = await buildTree(layout, fetched)
  await manifests.put({ ...manifest, used_at: clock.nowMs(), content: { tree, main, files: fetched } })
  for (const wanted of files) await rm(layout.record(partId(wanted)), { force: true })
}
