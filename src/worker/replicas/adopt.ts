import { replicaKey } from '../../core/lib/replica-key.ts'
import { sleep } from '../../platform/run/clock.ts'
import type { JournalEntry } from './journal.ts'
import { hooksOf, linesOf, running, type Launched, type ReplicaDeps } from './launch.ts'
import { realProcesses } from '../processes/processes.ts'
import type { ProcessIdentity } from '../processes/process-identity.ts'

export interface Adopted {
  entry: JournalEntry
  launched: Launched
}

/**
 * Handles engines that an earlier run of the worker left running: adopts those in the journal, and stops the others, or
 * all of them when a clean start is requested. A process counts as ours only by its pid and start time; no other
 * process is touched.
 */
export async function adopt(deps: ReplicaDeps, { isClean }: { isClean: boolean }): Promise<Adopted[]> {
  const listed = deps.journal.list()
  await endUnknown(listed, deps)
  const found = await Promise.all(listed.map((one) => adoptOne(one, deps, isClean)))
  const adopted = found.filter((one) => one !== undefined)
  // Of two with one key the newer one counts; the older one was being replaced when the worker died.
  return adopted.toSorted((a, b) => a.entry.spec.generation - b.entry.spec.generation)
}

/** Tests have no worker mark; without one there is nothing to search for. */
async function endUnknown(listed: readonly { folder: string }[], deps: ReplicaDeps): Promise<void> {
  const { processes = realProcesses, workerMark, clock, log } = deps
  if (workerMark === undefined) return
  const known = new Set(listed.map(({ folder }) => processes.readIdentity(folder)?.mark ?? ''))
  const ended = await processes.endUnknown(workerMark, known, clock)
  if (ended > 0) log.warn({ engines: ended }, 'ended engines of this worker that its journal does not know')
}

async function adoptOne(
  { folder, entry }: { folder: string; entry: JournalEntry | undefined },
  deps: ReplicaDeps,
  isClean: boolean,
): Promise<Adopted | undefined> {
  const { processes = realProcesses, journal } = deps
  const identity = processes.readIdentity(folder)
  const launched = entry && identity && !isClean ? await takeOver(entry, identity, folder, deps) : undefined
  if (entry && launched) return { entry, launched }
  if (identity) await endOne(entry, identity, folder, deps)
  journal.removeFolder(folder)
  return undefined
}

async function takeOver(
  entry: JournalEntry,
  identity: ProcessIdentity,
  folder: string,
  deps: ReplicaDeps,
): Promise<Launched | undefined> {
  const key = replicaKey(entry.spec.model_name, entry.spec.replica_index)
  const lines = linesOf(entry, deps)
  const { processes = realProcesses } = deps
  const engine = processes.adopt(identity, folder, hooksOf(key, lines, deps))
  if (!engine) return undefined
  deps.ports.hold(entry.port, key)
  const release = await holdFiles(entry, deps)
  deps.log.info({ replica: key, pid: identity.pid }, 'engine taken over')
  const launched = running(entry, engine, lines, deps, release)
  return { ...launched, awaited: { ...launched.awaited, isTakenOver: true } }
}

async function endOne(
  entry: JournalEntry | undefined,
  identity: ProcessIdentity,
  folder: string,
  { clock, log, processes = realProcesses }: ReplicaDeps,
): Promise<void> {
  const engine = processes.adopt(identity, folder, { clock, onLine: () => {} })
  if (!engine) return void (await processes.killStrays(identity, clock))
  const { signal, kill_after_s: seconds } = entry?.profile.stop ?? { signal: 'SIGTERM', kill_after_s: 5 }
  log.info({ pid: identity.pid }, 'stopping an engine that an earlier worker left behind')
  // A process that survives SIGKILL hangs in a driver; it must not keep the worker from starting.
  const enough = new AbortController()
  const stopped = engine.stop({ signal, killAfterMs: seconds * 1000 }).then(() => 'stopped' as const)
  const late = sleep(clock, (seconds + KILL_S) * 1000, enough.signal)
  if ((await Promise.race([stopped, late])) === undefined) {
    log.warn({ pid: identity.pid }, 'an engine that an earlier worker left behind does not end, not even by SIGKILL')
  }
  enough.abort()
}

const KILL_S = 5

/** How long to look for the files of a running engine: they are here, or the engine no longer needs them. */
const HOLD_MS = 5000

/** Keeps its files from being deleted while it uses them. They have been fetched, so this makes no network request. */
async function holdFiles({ spec, profile }: JournalEntry, { files }: ReplicaDeps): Promise<() => void> {
  const source = profile.model === 'files' ? spec.source : null
  const waiting = { signal: AbortSignal.timeout(HOLD_MS), onProgress: () => {} }
  try {
    return (await files.stage({ modelName: spec.model_name, source, options: spec.options }, waiting)).release
  } catch {
    return () => {}
  }
}
