import { stat } from 'node:fs/promises'
import type { Content } from './manifests.ts'
import type { Store } from './store.ts'
import { buildTree, isWhole } from './trees.ts'

export interface Use {
  id: string
  label: string
  modelName: string | undefined
}

/** Notes that a source is used, also while it is not complete: so its files are found when the model is deleted. Needs the lock. */
export async function noteUse(store: Store, { id, label, modelName }: Use): Promise<Content | null> {
  const { manifests, clock } = store
  const { models = [], content: known = null } = manifests.get(id) ?? {}
  const content = known && (await isThere(store, known)) ? known : null
  const names = modelName === undefined || models.includes(modelName) ? models : [...models, modelName]
  await manifests.put({ version: 1, id, source: label, models: names, used_at: clock.nowMs(), content })
  return content
}

/** Somebody may have deleted files by hand. Links are made anew; blobs have to be fetched again. */
async function isThere({ layout }: Store, { tree, files }: Content): Promise<boolean> {
  if (await isWhole(layout, tree, files)) return true
  for (const { sha256, size } of files) {
    const facts = await stat(layout.blob(sha256)).catch(() => undefined)
    if (facts?.size !== size) return false
  }
  await buildTree(layout, files)
  return true
}
