import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { removeBlobs, removeParts, removeSource } from './removal.ts'
import { listParts, listRecords, strayBlobs, type Store, type StoredFile } from './store.ts'
import { UNFINISHED } from './trees.ts'

/** Long enough: an interrupted transfer that is continued at all is continued sooner. */
const FORGOTTEN_AFTER_MS = 7 * 24 * 3_600_000

/**
 * Deletes unused files after a week, by names that are clearly ours; all other files are left alone. Needs the lock. A
 * file that cannot be deleted does not stop the sweep.
 */
export async function sweep(store: Store): Promise<void> {
  try {
    await removeForgotten(store)
  } catch (error) {
    store.log.warn({ err: error }, 'model files: old files could not be deleted')
  }
}

/** Deletes half-written files under temporary names from a process that died. Call it before anything else. */
export async function removeLeftovers({ layout, manifests }: Store): Promise<void> {
  const trees = new Set(manifests.all().map(({ content }) => content?.tree))
  for (const name of await readdir(layout.trees)) {
    const isOurs = name.startsWith(UNFINISHED) || (/^[0-9a-f]{32}$/.test(name) && !trees.has(name))
    if (isOurs) await rm(layout.tree(name), { recursive: true, force: true })
  }
  for (const folder of [layout.manifests, layout.partial]) {
    for (const name of await readdir(folder)) {
      if (/^[0-9a-f]{32}\.json\.tmp$/.test(name)) await rm(join(folder, name), { force: true })
    }
  }
}

async function removeForgotten(store: Store): Promise<void> {
  const { manifests, claims, clock } = store
  const isOld = (atMs: number): boolean => clock.nowMs() - atMs > FORGOTTEN_AFTER_MS
  const names = (files: readonly StoredFile[]): string[] =>
    files.filter(({ changedAtMs }) => isOld(changedAtMs)).map(({ name }) => name)
  const parts = await listParts(store)
  const present = new Set(parts.map(({ name }) => name))
  const lone = (await listRecords(store)).filter(({ name }) => !present.has(name))
  await removeParts(store, new Set([...names(parts), ...names(lone)]))
  await removeBlobs(
    store,
    (await strayBlobs(store)).filter(({ changedAtMs }) => isOld(changedAtMs)),
  )
  // Not a model's: an archive that was unpacked, or a model whose transfer never ended.
  const unused = manifests.all().filter(({ id, models, content, used_at: usedAt }) => {
    return (models.length === 0 || content === null) && isOld(usedAt) && !claims.hasSource(id)
  })
  for (const { id } of unused) await removeSource(store, id)
}
