import { stat } from 'node:fs/promises'
import type { Content } from './manifests.ts'
import type { Store } from './store.ts'
import { buildTree, isWhole } from './trees.ts'

export interface Use {
  id: string
  label: string
  modelName: string | undefined
}

/** Records that a source is in use, complete or not, so that deleting the model finds its files. Needs the lock. */
export async function noteUse(store: Store, { id, label, modelName }: Use): Promise<Content | null> {
  const { manifests, clock } = store
  const { models = [], content: known = null } = manifests.get(id) ?? {}
  const content = known && (await isThere(store, known)) ? known : null
  const names = modelName === undefined || models.includes(modelName) ? models : [...models, modelName]
  await manifests.put({ version: 1, id, source: label, models: names, used_at: clock.nowMs(), content })
  return content
}

/**
 * Checks the disk, because files may have been deleted by hand. Links can be made again; blobs must be fetched again.
 */
async function isThere({ layout }: Store, { tree, files }: Content): Promise<boolean> {
  if (await isWhole(layout, tree, files)) return true
  for (const { sha256, size } of files) {
    const facts = await stat(layout.blob(sha256)).catch(() => undefined)
    if (facts?.size !== size) return false
  }
  await buildTree(layout, files)
  return true
}
