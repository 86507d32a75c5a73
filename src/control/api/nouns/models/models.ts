import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { addQuery, changeQuery, type modelInput, type ModelSaved } from '../../../../api/admin/model-schemas.ts'
import { modelName } from '../../../../api/admin/names.ts'
import { parseBytes } from '../../../../core/lib/bytes.ts'
import { canonicalJson } from '../../../../core/lib/canonical-json.ts'
import type { ExplicitMemory, Model } from '../../../../core/types.ts'
import { AppError } from '../../../../platform/errors.ts'
import type { Sql } from '../../../../store/sql.ts'
import { deleteDemand } from '../../../../store/nouns/demands.ts'
import { deleteModel, listModels, saveModel, type StoredModel } from '../../../../store/nouns/models.ts'
import { listReplicas } from '../../../../store/nouns/replicas.ts'
import { findRule } from '../../../../store/nouns/rules.ts'
import { change, type Tell } from '../../../changes/change.ts'
import { needRoom } from '../../../changes/most-rows.ts'
import type { Answers } from '../../answers.ts'
import { refuseMistakes } from '../../check-model.ts'
import { keepRunning, removeCompanion } from '../../companion-rule.ts'
import type { AdminDeps } from '../../deps.ts'
import { effectOf } from '../../../../core/explain/model-effect.ts'
import { differences, existsError, type Difference } from '../../model-exists.ts'
import { noModel, viewModels, viewOneModel } from '../../../views/model-view.ts'
import { readQuery } from '../../query.ts'
import { conflictError, isChangedSince } from '../../access/if-unmodified.ts'

export function modelAnswers(
  deps: AdminDeps,
): Answers<'listModels' | 'getModel' | 'saveModel' | 'putModel' | 'deleteModel'> {
  return {
    listModels: () => viewModels(deps.db),
    getModel: (_body, { name }) => viewOneModel(deps.db, name),

    async saveModel({ replicas, ...input }, _params, { request }) {
      const { replace, later } = readQuery(request, addQuery)
      return save(deps, toModel(input), { isNew: replace !== 'true', isForLater: later === 'true', replicas })
    },

    async putModel({ name: named, ...settings }, { name }, { request }) {
      if (named !== undefined && named !== name) {
        const text = `name: "${named}" is not the name in the path, "${name}". A model keeps its name: leave it out.`
        throw new AppError('bad_request', text, { details: { param: 'name' } })
      }
      const { later, if_updated_at: seenMs } = readQuery(request, changeQuery)
      return save(deps, toModel({ name: checkedName(name), ...settings }), { isForLater: later === 'true', seenMs })
    },

    deleteModel: (_body, { name }) =>
      change(deps, async (tx, tell) => {
        await refuseServed(tx, name)
        await removeModel(tx, tell, name)
        return { deleted: name, rule: await removeCompanion(tx, tell, name) }
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
  await needRoom(tx, 'models', name)
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

interface Saving {
  /** Refused where there is another of this name. */
  isNew?: boolean
  /** What no node can run as things are is accepted. */
  isForLater: boolean
  /** Refused where it was changed since. */
  seenMs?: number | undefined
  /** To be kept by its rule. */
  replicas?: number | undefined
}

type Refused = { differs: Difference[] } | 'changed'

async function save(deps: AdminDeps, model: Model, saving: Saving): Promise<ModelSaved> {
  const { name } = model
  // Read before the transaction: inside, each heartbeat would make it run again; after it, the replicas may be ending already.
  const replicas = (await listReplicas(deps.db)).filter((replica) => replica.modelName === name)
  const rule = await findRule(deps.db, name)
  if (!saving.isForLater) await refuseMistakes(deps, model, await findModel(deps.db, name))
  const outcome = await change(deps, async (tx, tell): Promise<ModelSaved['effect'] | Refused> => {
    const before = await findModel(tx, name)
    if (isChangedSince(before?.updatedMs, saving.seenMs)) return 'changed'
    const differs = saving.isNew && before ? await differences(tx, { before, after: model }, saving.replicas) : []
    if (differs.length > 0) return { differs }
    const effect = effectOf({ before, after: model, replicas, rule })
    // The same meaning is not written again: nothing has changed, so there is no event and no wake.
    if (effect.is_changed) await writeModel(tx, tell, model, effect.replaced)
    if (saving.replicas !== undefined) await keepRunning(tx, tell, name, saving.replicas)
    return effect
  })
  if (outcome === 'changed') throw await modelConflict(deps.db, name)
  if ('differs' in outcome) throw await existsError(deps.db, name, outcome.differs)
  return { ...(await viewOneModel(deps.db, name)), effect: outcome }
}

async function findModel(sql: Sql, name: string): Promise<StoredModel | undefined> {
  return (await listModels(sql, [name]))[0]
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
  // Placement settings are not part of the revision: changing them restarts nothing. A missing source is left out, so that
  // models from before there were sources keep their revision.
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
