import { rm } from 'node:fs/promises'
import { AppError } from '../../../platform/errors.ts'
import { fileProblem } from '../../../platform/file-problem.ts'
import { readRecord } from './part.ts'
import { listParts, listRecords, strayBlobs, type Store, type StoredFile } from './store.ts'

export interface Removed {
  files: number
  freedBytes: number
}

/**
 * Forgets a source and deletes the files that only it names: its blobs, its tree, its partial files. Needs the lock.
 * The manifest goes first: a crash on the way leaves files without a manifest, never a manifest without its files.
 */
export async function removeSource(store: Store, id: string): Promise<Removed> {
  const { manifests, layout } = store
  const content = manifests.get(id)?.content
  const ours = new Set(content?.files.map(({ sha256 }) => sha256))
  const parts = await partsOf(store, id)
  for (const part of parts) if (part.sha256 !== null) ours.add(part.sha256)
  await manifests.delete(id)
  if (content && !manifests.all().some((other) => other.content?.tree === content.tree)) {
    await remove(layout.tree(content.tree))
  }
  const unused = (await strayBlobs(store)).filter(({ name }) => ours.has(name))
  const removed = [await removeBlobs(store, unused), await removeParts(store, new Set(parts.map((part) => part.id)))]
  return removed.reduce((a, b) => ({ files: a.files + b.files, freedBytes: a.freedBytes + b.freedBytes }))
}

export async function removeBlobs({ layout }: Store, blobs: readonly StoredFile[]): Promise<Removed> {
  for (const { name } of blobs) await remove(layout.blob(name))
  return { files: blobs.length, freedBytes: blobs.reduce((sum, { size }) => sum + size, 0) }
}

/** Parts that a transfer writes to are left alone. */
export async function removeParts(store: Store, ids: ReadonlySet<string>): Promise<Removed> {
  const { layout, claims } = store
  const parts = (await listParts(store)).filter(({ name }) => ids.has(name) && !claims.isPartOpen(name))
  for (const id of ids) {
    if (claims.isPartOpen(id)) continue
    await remove(layout.part(id))
    await remove(layout.record(id))
  }
  return { files: parts.length, freedBytes: parts.reduce((sum, { size }) => sum + size, 0) }
}

async function remove(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch (error) {
    throw new AppError('unavailable', `Cannot delete ${path}: ${fileProblem(error)}.`, { cause: error })
  }
}

async function partsOf(store: Store, sourceId: string): Promise<{ id: string; sha256: string | null }[]> {
  const found: { id: string; sha256: string | null }[] = []
  for (const { name } of await listRecords(store)) {
    const record = await readRecord(store.layout, name)
    if (record?.source_id === sourceId) found.push({ id: name, sha256: record.sha256 })
  }
  return found
}
