import { chmod, rename, stat } from 'node:fs/promises'
import type { Turns } from '../../model-files/source/turns.ts'
import type { Wanted } from '../../model-files/source/wanted.ts'
import { AppError } from '../../platform/errors.ts'
import type { Fetched, FileProgress } from './store/fetched.ts'
import { idOf, syncFolder } from './store/layout.ts'
import { Part, readRecord } from './store/part.ts'
import type { Store } from './store/store.ts'
import { transfer, type TransferDeps } from './transfer.ts'

export interface FetchFileDeps extends TransferDeps {
  store: Store
  /** Limits how many transfers run at the same time. */
  transfers: Turns
}

/**
 * The name of a partial file: by its digest where that is known, so that any source of the same file can continue it.
 */
export function partId({ sha256, key }: Wanted): string {
  return idOf(sha256 === undefined ? key : `sha256:${sha256}`)
}

/** Brings one file into the store, unless it is there. The file stays at least until no transfer is running. */
export async function fetchFile(
  wanted: Wanted,
  sourceId: string,
  deps: FetchFileDeps,
  signal: AbortSignal,
  report: (progress: FileProgress) => void,
): Promise<Fetched> {
  const { store, transfers } = deps
  const id = partId(wanted)
  const present = await store.lock.run(async () => {
    const found = await findFetched(wanted, id, store)
    if (!found) store.claims.openPart(id)
    return found
  })
  if (present) {
    report({ path: wanted.path, doneBytes: present.size, totalBytes: present.size, arrivedBytes: 0 })
    return present
  }
  try {
    return await transfers.run(signal, () => fetchPart(wanted, id, sourceId, deps, signal, report))
  } finally {
    store.claims.closePart(id)
  }
}

/** By its digest, or by the record of an earlier run that fetched it and ended before it could note that. */
async function findFetched(wanted: Wanted, id: string, { layout, claims }: Store): Promise<Fetched | undefined> {
  const record = await readRecord(layout, id)
  const sha256 = wanted.sha256 ?? record?.sha256 ?? undefined
  if (sha256 === undefined) return undefined
  claims.pin(sha256)
  const facts = await stat(layout.blob(sha256)).catch(() => undefined)
  if (!facts?.isFile() || (wanted.size !== undefined && wanted.size !== facts.size)) return undefined
  const { etag = null, last_modified = null } = record ?? {}
  return { path: wanted.path, sha256, size: facts.size, etag, last_modified }
}

async function fetchPart(
  wanted: Wanted,
  id: string,
  sourceId: string,
  deps: FetchFileDeps,
  signal: AbortSignal,
  report: (progress: FileProgress) => void,
): Promise<Fetched> {
  const { layout } = deps.store
  const explain = async (error: unknown): Promise<never> => {
    throw error instanceof AppError || signal.aborted ? error : await deps.space.explain(wanted.label, error)
  }
  let arrivedBytes = 0
  const tell = (doneBytes: number, totalBytes: number | null): void =>
    report({ path: wanted.path, doneBytes, totalBytes, arrivedBytes })
  const onHashed = (doneBytes: number): void => tell(doneBytes, wanted.size ?? null)
  const part = await Part.open(wanted, { layout, id, sourceId }, signal, onHashed).catch(explain)
  try {
    await transfer(wanted, part, deps, signal, (arrived) => {
      arrivedBytes += arrived
      tell(part.doneBytes, part.totalBytes)
    })
    return await commit(wanted, part, id, deps.store).catch(explain)
  } catch (error) {
    if (!part.canResume) await part.discard()
    throw error
  } finally {
    await part.close()
  }
}

async function commit(wanted: Wanted, part: Part, id: string, { layout, claims }: Store): Promise<Fetched> {
  const { etag, last_modified } = part.head
  const sha256 = await part.seal()
  if (wanted.sha256 !== undefined && sha256 !== wanted.sha256) {
    await part.discard()
    const what = `its sha256 is ${sha256} and should be ${wanted.sha256}`
    const hint = 'What arrived was deleted. Check the source, or what lies between here and there.'
    throw new AppError('bad_gateway', `The file ${wanted.label} is not what it should be: ${what}. ${hint}`)
  }
  claims.pin(sha256)
  await rename(layout.part(id), layout.blob(sha256))
  await chmod(layout.blob(sha256), 0o444)
  await syncFolder(layout.blobs)
  return { path: wanted.path, sha256, size: part.doneBytes, etag, last_modified }
}
