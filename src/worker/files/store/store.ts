import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../platform/run/clock.ts'
import type { Logger } from '../../../platform/run/log.ts'
import type { Claims } from './claims.ts'
import type { Layout } from './layout.ts'
import type { Lock } from './lock.ts'
import type { Manifests } from './manifests.ts'

/**
 * What is on disk. All code that looks for files in order to keep or delete them takes the lock, so that no file is
 * deleted between being found and being claimed.
 */
export interface Store {
  layout: Layout
  manifests: Manifests
  claims: Claims
  lock: Lock
  clock: Clock
  log: Logger
}

export interface StoredFile {
  /** The digest of a blob, the id of a part or record. */
  name: string
  size: number
  changedAtMs: number
}

export function listBlobs({ layout }: Store): Promise<StoredFile[]> {
  return list(layout.blobs, /^sha256-([0-9a-f]{64})$/)
}

export function listParts({ layout }: Store): Promise<StoredFile[]> {
  return list(layout.partial, /^([0-9a-f]{32})\.part$/)
}

export function listRecords({ layout }: Store): Promise<StoredFile[]> {
  return list(layout.partial, /^([0-9a-f]{32})\.json$/)
}

/** Blobs that no manifest names and no transfer is about to use. */
export async function strayBlobs(store: Store): Promise<StoredFile[]> {
  const named = namedBlobs(store)
  return (await listBlobs(store)).filter(({ name }) => !named.has(name) && !store.claims.isPinned(name))
}

function namedBlobs({ manifests }: Store): Set<string> {
  return new Set(manifests.all().flatMap(({ content }) => content?.files.map(({ sha256 }) => sha256) ?? []))
}

/** Only names that are clearly ours. Files that disappear meanwhile are left out. */
async function list(folder: string, pattern: RegExp): Promise<StoredFile[]> {
  const found: StoredFile[] = []
  for (const entry of await readdir(folder)) {
    const name = pattern.exec(entry)?.[1]
    const facts = name === undefined ? undefined : await stat(join(folder, entry)).catch(() => undefined)
    if (facts?.isFile()) found.push({ name: name!, size: facts.size, changedAtMs: facts.mtimeMs })
  }
  return found
}
