import { removeBlobs, removeParts, removeSource, type Removed } from './removal.ts'
import { listBlobs, listParts, strayBlobs, type Store } from './store.ts'

export async function usedBytes(store: Store): Promise<number> {
  const files = [...(await listBlobs(store)), ...(await listParts(store))]
  return files.reduce((sum, { size }) => sum + size, 0)
}

/** Deletes the unused file that was last used longest ago; false when there is none. Needs the lock. */
export async function collectOldest(store: Store): Promise<boolean> {
  const candidates = [...unusedSources(store), ...(await strays(store))]
  const oldest = candidates.toSorted((a, b) => a.usedAtMs - b.usedAtMs)[0]
  if (!oldest) return false
  const { files, freedBytes } = await oldest.remove()
  store.log.info({ what: oldest.what, files, freed_bytes: freedBytes }, 'model files: deleted to make room')
  return true
}

interface Candidate {
  what: string
  usedAtMs: number
  remove: () => Promise<Removed>
}

function unusedSources(store: Store): Candidate[] {
  const { manifests, claims } = store
  const [used, unused] = [true, false].map((isUsed) =>
    manifests.all().filter(({ id }) => claims.hasSource(id) === isUsed),
  ) as [ReturnType<typeof manifests.all>, ReturnType<typeof manifests.all>]
  const needed = new Set(used.flatMap(({ content }) => content?.files.map(({ sha256 }) => sha256) ?? []))
  const isNeeded = (sha256: string): boolean => needed.has(sha256) || claims.isPinned(sha256)
  return (
    unused
      // A source whose files are all in use for another source would free nothing.
      .filter(({ content }) => content === null || content.files.some(({ sha256 }) => !isNeeded(sha256)))
      .map(({ id, source, used_at: usedAtMs }) => ({ what: source, usedAtMs, remove: () => removeSource(store, id) }))
  )
}

/** Leftovers of interrupted transfers. */
async function strays(store: Store): Promise<Candidate[]> {
  const parts = (await listParts(store)).filter(({ name }) => !store.claims.isPartOpen(name))
  return [
    ...(await strayBlobs(store)).map((blob) => ({
      what: `sha256-${blob.name}`,
      usedAtMs: blob.changedAtMs,
      remove: () => removeBlobs(store, [blob]),
    })),
    ...parts.map(({ name, changedAtMs }) => ({
      what: `${name}.part`,
      usedAtMs: changedAtMs,
      remove: () => removeParts(store, new Set([name])),
    })),
  ]
}
