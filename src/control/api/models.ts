import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { modelInput, ModelSaved } from '../../api/admin/model-schemas.ts'
import { modelName } from '../../api/admin/names.ts'
import { parseBytes } from '../../core/lib/bytes.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import type { ExplicitMemory, Model } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sql } from '../../store/database.ts'
import { deleteDemand } from '../../store/demands.ts'
import { deleteModel, listModels, saveModel } from '../../store/models.ts'
import { listReplicas } from '../../store/replicas.ts'
import { findRule } from '../../store/rules.ts'
import { change, type Tell } from '../change.ts'
import type { Answers } from './answers.ts'
import type { AdminDeps } from './deps.ts'
import { effectOf } from './model-effect.ts'
import { noModel, viewModels, viewOneModel } from './model-view.ts'
import { conflictError, isChangedSince, seenAt } from './unchanged.ts'

export function modelAnswers(
  deps: AdminDeps,
): Answers<'listModels' | 'getModel' | 'saveModel' | 'putModel' | 'deleteModel'> {
  return {
    listModels: () => viewModels(deps.db),
    getModel: (_body, { name }) => viewOneModel(deps.db, name),
    saveModel: async (input) => save(deps, toModel(input)),

    async putModel({ name: named, ...settings }, { name }, { request }) {
      if (named !== undefined && named !== name) {
        const text = `name: "${named}" is not the name in the path, "${name}". A model keeps its name: leave it out.`
        throw new AppError('bad_request', text, { details: { param: 'name' } })
      }
      return save(deps, toModel({ name: checkedName(name), ...settings }), seenAt(request))
    },

    deleteModel: (_body, { name }) =>
      change(deps, async (tx, tell) => {
        await refuseServed(tx, name)
        await removeModel(tx, tell, name)
        return { deleted: name }
      }),
  }
}

/** It would be back in a moment. */
async function refuseServed(tx: Sql, name: string): Promise<void> {
  const model = (await listModels(tx)).find((one) => one.name === name)
  if (model?.origin !== 'folder') return
  const text = `"${name}" comes from the folder that a frontend serves (--models-dir)`
  throw new AppError('conflict', `${text}: it goes when its file is taken away there.`)
}

export async function removeModel(tx: Sql, tell: Tell, name: string): Promise<void> {
  if (!(await deleteModel(tx, name))) throw noModel(name)
  await deleteDemand(tx, name)
  await tell({ action: 'model.deleted', modelName: name, reason: `model ${name} was removed` })
}

/** `replaced` says how many replicas of the old meaning there are. */
export async function writeModel(tx: Sql, tell: Tell, model: Model, replaced: number): Promise<void> {
  const { name, engine, revision } = model
  await saveModel(tx, model)
  const data = { engine, revision, replaced }
  await tell({ action: 'model.saved', modelName: name, reason: `model ${name} was saved`, data })
}

/** A path may hold more than a body is allowed to. */
function checkedName(name: string): string {
  const { success, error } = modelName.safeParse(name)
  if (success) return name
  throw new AppError('bad_request', `name: ${error.issues[0]!.message}`, { details: { param: 'name' } })
}

async function save(deps: AdminDeps, model: Model, seenMs?: number): Promise<ModelSaved> {
  const { name } = model
  // Read before: within, it would be run again at every heartbeat, and after it they may be on their way out.
  const replicas = (await listReplicas(deps.db)).filter((replica) => replica.modelName === name)
  const rule = await findRule(deps.db, name)
  const effect = await change(deps, async (tx, tell) => {
    const before = (await listModels(tx)).find((one) => one.name === name)
    if (isChangedSince(before?.updatedMs, seenMs)) return undefined
    const effect = effectOf({ before, after: model, replicas, rule })
    // What means the same is not written again: nothing has changed, so nobody is told and nobody is woken.
    if (!effect.is_changed) return effect
    await writeModel(tx, tell, model, effect.replaced)
    return effect
  })
  if (!effect) throw await modelConflict(deps.db, name)
  return { ...(await viewOneModel(deps.db, name)), effect }
}

async function modelConflict(db: Sql, name: string): Promise<AppError> {
  const isThere = (await listModels(db)).some((model) => model.name === name)
  const current = isThere ? await viewOneModel(db, name) : null
  const actions = ['model.saved', 'model.deleted'] as const
  return conflictError(db, { what: `The model "${name}"`, modelName: name, actions, current })
}

/** A model as an admin wrote it, with its revision: the hash of what it means, whatever order it was written in. */
export function toModel(input: z.input<typeof modelInput>): Model {
  const { name, engine, source = null, options = {}, memory = null, anti_affinity: antiAffinity = null } = input
  // What says where a replica may go is no part of what it is: to change it restarts nothing. Without a source as if
  // there were none: models from before there were sources keep their revision.
  const meaning = source === null ? { engine, options } : { engine, source, options }
  const revision = createHash('sha256').update(canonicalJson(meaning)).digest('hex').slice(0, 16)
  return { name, engine, source, options, memory: memory && readMemory(memory), antiAffinity, revision }
}

type Size = string | number

function readMemory({ vram = 0, ram = 0 }: { vram?: Size | undefined; ram?: Size | undefined }): ExplicitMemory {
  return { vram: readSize('vram', vram), ram: readSize('ram', ram) }
}

function readSize(field: string, size: Size): number {
  const bytes = parseBytes(String(size))
  if (bytes !== undefined) return bytes
  const text = `memory.${field}: "${size}" is no size: expected text such as "12GiB", or a number of bytes.`
  throw new AppError('bad_request', text, { details: { param: `memory.${field}` } })
}
