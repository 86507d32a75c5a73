import type { Model } from '../../../core/types.ts'
import type { Sql } from '../../../store/sql.ts'
import { deleteDemand } from '../../../store/nouns/demands.ts'
import { deleteModel, listModels, saveModel } from '../../../store/nouns/models.ts'
import { change, type ChangeDeps, type Tell } from '../../changes/change.ts'
import { needRoom } from '../../changes/most-rows.ts'

/** What the folder has: models that could be read, and names whose files are there but cannot be read now. */
export interface FolderContent {
  models: readonly Model[]
  unclear: ReadonlySet<string>
}

/**
 * Brings the models of the folder up to date with its files. A model that an admin has defined under the same name stays
 * as it is. Returns the names that an admin has taken.
 */
export async function syncModels(deps: ChangeDeps, { models, unclear }: FolderContent): Promise<string[]> {
  return change(deps, async (tx, tell) => {
    const stored = new Map((await listModels(tx)).map((model) => [model.name, model]))
    const ours = [...stored.values()].filter(({ origin }) => origin === 'folder')
    const there = new Set(models.map(({ name }) => name))
    const gone = ours.filter(({ name }) => !there.has(name) && !unclear.has(name))
    const changed = models.filter(({ name, revision }) => {
      const before = stored.get(name)
      return !before || (before.origin === 'folder' && before.revision !== revision)
    })
    for (const { name } of gone) await remove(tx, tell, name)
    for (const model of changed) await save(tx, tell, model)
    return models.map(({ name }) => name).filter((name) => stored.get(name)?.origin === 'api')
  })
}

async function remove(tx: Sql, tell: Tell, name: string): Promise<void> {
  await deleteModel(tx, name)
  await deleteDemand(tx, name)
  const reason = `model ${name} was removed: its file is no longer in the served folder`
  await tell({ actor: 'folder', action: 'model.deleted', modelName: name, reason })
}

async function save(tx: Sql, tell: Tell, model: Model): Promise<void> {
  const { name, engine, source, revision } = model
  await needRoom(tx, 'models', name)
  await saveModel(tx, model, 'folder')
  const reason = `model ${name} was found in the served folder`
  await tell({ actor: 'folder', action: 'model.saved', modelName: name, reason, data: { engine, source, revision } })
}
