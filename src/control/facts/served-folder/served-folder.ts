import { join } from 'node:path'
import type { Model } from '../../../core/types.ts'
import type { Clock } from '../../../platform/run/clock.ts'
import { messageOf } from '../../../platform/errors.ts'
import { startLoop } from '../../../platform/run/loop.ts'
import type { ChangeDeps } from '../../changes/change.ts'
import { listFiles, statIfThere } from '../models-folder.ts'
import { findModels, type FoundModel } from './find-models.ts'
import { readModel } from './read-model.ts'
import { syncModels } from './sync-models.ts'

export interface ServedFolderDeps extends ChangeDeps {
  /** Without one nothing is served, and what an earlier start has served goes. */
  folder: string | undefined
  /** Only the leader says which models there are. */
  isLeading: () => boolean
  clock: Clock
}

/** Looked at, not watched: that works on drives over the network, too. */
const LOOK_PERIOD_MS = 2000

/** What was last seen of the files of one model. */
interface Seen {
  /** Paths and sizes. */
  look: string
  isRead: boolean
  /** Undefined: not read yet, or of no use. */
  model: Model | undefined
}

/**
 * Serves a folder of GGUF files as it is: each becomes a model, follows its file and goes with it. A folder that cannot be
 * read changes nothing: a drive may be away for a moment.
 */
export function startServedFolder(deps: ServedFolderDeps): { dispose(): Promise<void> } {
  const { folder, clock, log } = deps
  const seen = new Map<string, Seen>()
  const told = new Set<string>()
  let isCleared = false
  const tellOnce = (text: string, fields: object): void => {
    const key = `${text} ${JSON.stringify(fields)}`
    if (told.has(key)) return
    if (told.size > MOST_TOLD) told.clear()
    told.add(key)
    log.warn(fields, text)
  }

  const turn = async (): Promise<void> => {
    if (!deps.isLeading() || isCleared) return
    const { models: found, leftOut } =
      folder === undefined ? NOTHING : findModels((await listFiles(folder, folder)).files)
    for (const path of leftOut) tellOnce('served folder: left out, for its name is taken or cannot be one', { path })
    const there = new Set(found.map(({ name }) => name))
    for (const name of seen.keys()) if (!there.has(name)) seen.delete(name)
    for (const model of found) await look(model)
    const models = found.flatMap(({ name }) => seen.get(name)?.model ?? [])
    const ready = new Set(models.map(({ name }) => name))
    const unclear = new Set([...there].filter((name) => !ready.has(name)))
    const taken = await syncModels(deps, { models, unclear })
    for (const name of taken)
      tellOnce('served folder: left out, for an admin has defined a model of that name', { name })
    isCleared = folder === undefined
  }

  const look = async (found: FoundModel): Promise<void> => {
    const { name, files } = found
    const now = files.map(({ path, size }) => `${path} ${size}`).join('\n')
    const before = seen.get(name)
    if (before?.isRead && before.look === now) return
    const mine: Seen = { look: now, isRead: false, model: before?.model }
    seen.set(name, mine)
    // What grows from look to look, or was written just now, is being copied.
    if (before?.look !== now && !(await isOld(files))) return
    mine.isRead = true
    try {
      mine.model = await readModel(folder!, found)
    } catch (error) {
      mine.model = undefined
      tellOnce('served folder: left out a model that cannot be read', { model: name, why: messageOf(error) })
    }
  }

  const isOld = async (files: FoundModel['files']): Promise<boolean> => {
    const changed = await Promise.all(files.map(async ({ path }) => (await statIfThere(join(folder!, path)))?.mtimeMs))
    return changed.every((at) => at !== undefined && at < clock.nowMs() - LOOK_PERIOD_MS)
  }

  const onError = (error: unknown): void => tellOnce('served folder: cannot be read', { why: messageOf(error) })
  return startLoop({ periodMs: LOOK_PERIOD_MS, turn, clock, onError })
}

const NOTHING = { models: [], leftOut: [] }
const MOST_TOLD = 10_000
