import type { Unloaded } from '../../../../api/admin/schemas.ts'
import type { LoadStatus } from '../../../../api/load-status.ts'
import { AppError } from '../../../../platform/errors.ts'
import { deleteDemand, saveDemand } from '../../../../store/nouns/demands.ts'
import { listModels } from '../../../../store/nouns/models.ts'
import { listReplicas } from '../../../../store/nouns/replicas.ts'
import { loadWorld } from '../../../../store/world/world.ts'
import { change } from '../../../changes/change.ts'
import { loadStatusOf } from '../../../../core/explain/load-status.ts'
import { LOAD_WANTED_MS, unload, type Unloading } from '../../../workers/unload.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'
import { neededModel, noModel } from '../../../views/model-view.ts'
import { UNLOAD_WAIT_MS } from './unload.ts'

/** Nodes that are asked at the same time to stop replicas of a model. */
const MOST_AT_ONCE = 16

export function modelLoadAnswers(deps: AdminDeps): Answers<'loadModel' | 'unloadModelEverywhere' | 'loadStatus'> {
  const statusNow = async (name: string): Promise<LoadStatus> => {
    const world = await loadWorld(deps.db)
    neededModel(world, name)
    return loadStatusOf(world, name, deps.placement)
  }
  return {
    async loadModel(_body, { name }) {
      await change(deps, async (tx, tell) => {
        if (!(await listModels(tx)).some((model) => model.name === name)) throw noModel(name)
        await saveDemand(tx, name, LOAD_WANTED_MS)
        const reason = `${name} is to be loaded now`
        await tell({ action: 'model.load_asked', modelName: name, reason })
      })
      return statusNow(name)
    },

    async unloadModelEverywhere({ force }, { name }) {
      const nodeIds = await forgetDemand(deps, name)
      const order = { modelName: name, replicaIndex: undefined, force, waitMs: UNLOAD_WAIT_MS }
      const unloadings: Unloading[] = []
      const waiting = nodeIds.values()
      const workOff = async (): Promise<void> => {
        for (const nodeId of waiting) {
          const unloading = await unlessRemoved(unload(deps, nodeId, order))
          if (unloading) unloadings.push(unloading)
        }
      }
      await Promise.all(Array.from({ length: MOST_AT_ONCE }, workOff))
      return summary(unloadings)
    },

    loadStatus: (_body, { name }) => statusNow(name),
  }
}

/** Done first, or the leader would start again what is stopped. Returns the nodes that have replicas of the model. */
async function forgetDemand({ db }: AdminDeps, name: string): Promise<string[]> {
  await db.transaction((tx) => deleteDemand(tx, name))
  const mine = (await listReplicas(db)).filter(({ modelName }) => modelName === name)
  // One that was removed may still have replicas that are on their way out.
  if (mine.length === 0 && !(await listModels(db)).some((model) => model.name === name)) throw noModel(name)
  return [...new Set(mine.map(({ nodeId }) => nodeId))]
}

/** A node that has been removed meanwhile has taken its replicas with it. */
async function unlessRemoved(unloading: Promise<Unloading>): Promise<Unloading | undefined> {
  try {
    return await unloading
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  }
}

/** The last of the transactions saw what all the others had done, so its word on the rule holds. */
function summary(unloadings: readonly Unloading[]): Unloaded {
  return {
    replicas: unloadings.flatMap(({ replicas }) => replicas).toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    kept_by_rule: unloadings.some(({ keptByRule }) => keptByRule),
  }
}
