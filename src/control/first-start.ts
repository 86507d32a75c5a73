import type { Database } from '../store/database.ts'
import { hasModels, saveModel } from '../store/models.ts'
import { listNodes } from '../store/nodes.ts'
import { saveRule } from '../store/rules.ts'
import { toModel } from './api/models.ts'

/**
 * A cluster that has never had a node gets a model to try: the built-in simulator. Only then: who deletes it later is
 * taken at their word.
 */
export async function seedFirstStart(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    if ((await hasModels(tx)) || (await listNodes(tx)).length > 0) return
    await saveModel(
      tx,
      toModel({ name: 'sim', engine: 'sim', source: null, options: {}, memory: null, anti_affinity: null }),
    )
    await saveRule(tx, {
      modelName: 'sim',
      nodeSelector: {},
      routePolicy: 'least_loaded',
      minReplicas: 1,
      maxReplicas: 0,
      spreadAll: false,
      scaleToZeroAfterMs: null,
      source: 'api',
    })
  })
}
