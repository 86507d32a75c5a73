import type { Database, Sql } from '../../store/sql.ts'
import { hasModels, saveModel } from '../../store/nouns/models.ts'
import { listNodes } from '../../store/nouns/nodes.ts'
import { saveRule } from '../../store/nouns/rules.ts'
import { toModel } from '../api/nouns/models/models.ts'

export interface FirstStart {
  firstModel: 'skipper' | 'sim' | 'none'
  /** Of this machine. */
  cores: number
}

/**
 * A cluster that has never had a node gets a model to try. Only then: once an admin deletes it, it stays deleted. Beside
 * skipper there is the simulator: it needs nothing and its first request loads it.
 */
export async function seedFirstStart(db: Database, { firstModel, cores }: FirstStart): Promise<void> {
  if (firstModel === 'none') return
  await db.transaction(async (tx) => {
    if ((await hasModels(tx)) || (await listNodes(tx)).length > 0) return
    await saveModel(tx, toModel({ ...nothingSpecial, name: 'sim', engine: 'sim', source: null, options: {} }))
    if (firstModel === 'sim') {
      await keepRunning(tx, 'sim', 1)
      return
    }
    await saveModel(tx, toModel({ ...nothingSpecial, ...skipper }))
    // Two, where there is room, so that the first thing to see is how requests are spread over them.
    await keepRunning(tx, 'skipper', cores >= 2 ? 2 : 1)
  })
}

const nothingSpecial = { memory: null, anti_affinity: null }

/** For a model this small more threads are slower: they wait for each other longer than they work. */
const skipper = {
  name: 'skipper',
  engine: 'llama',
  source: 'bundled:skipper/skipper.gguf',
  options: { context: 1024, threads: 1 },
}

function keepRunning(tx: Sql, modelName: string, minReplicas: number): Promise<unknown> {
  return saveRule(tx, {
    modelName,
    nodeSelector: {},
    routePolicy: 'least_loaded',
    minReplicas,
    maxReplicas: 0,
    spreadAll: false,
    scaleToZeroAfterMs: null,
    source: 'api',
  })
}
