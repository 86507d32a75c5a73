import type { ModelView } from '../../api/admin/model-schemas.ts'
import { toHeaderMessage } from '../../api/header-message.ts'
import { routableReplicas } from '../../core/routing/table.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sql } from '../../store/sql.ts'
import { listLoadInfo, type LoadInfo } from '../../store/nouns/load-info.ts'
import type { StoredModel } from '../../store/nouns/models.ts'
import { loadWorld, type StoredWorld } from '../../store/world/world.ts'
import { modelState } from '../../core/explain/model-state.ts'

export async function viewModels(sql: Sql): Promise<ModelView[]> {
  const world = await loadWorld(sql)
  const view = modelViewer(world, await listLoadInfo(sql))
  return world.models.map(view)
}

export async function viewOneModel(sql: Sql, name: string): Promise<ModelView> {
  const world = await loadWorld(sql)
  return modelViewer(world, await listLoadInfo(sql))(neededModel(world, name))
}

export function neededModel({ models }: StoredWorld, name: string): StoredModel {
  const model = models.find((one) => one.name === name)
  if (!model) throw noModel(name)
  return model
}

export function noModel(name: string): AppError {
  return new AppError('not_found', `There is no model "${name}".`)
}

/** To view many by one world. */
export function modelViewer(world: StoredWorld, infos: readonly LoadInfo[]): (model: StoredModel) => ModelView {
  const replicas = Map.groupBy(world.replicas, ({ modelName }) => modelName)
  const routes = routableReplicas(world.models, world.nodes, world.replicas, world.rules)
  const served = Map.groupBy(routes, ({ modelName }) => modelName)
  const facts = new Map(world.facts.map((one) => [one.modelName, one]))
  const loaded = new Map(infos.map((one) => [one.modelName, one]))
  return (model) => {
    const mine = replicas.get(model.name) ?? []
    const ready = served.get(model.name)?.length ?? 0
    const known = facts.get(model.name)
    const current = known?.revision === model.revision ? known : undefined
    const info = loaded.get(model.name)
    return {
      name: model.name,
      engine: model.engine,
      source: model.source,
      options: model.options,
      memory: model.memory,
      anti_affinity: model.antiAffinity,
      origin: model.origin,
      revision: model.revision,
      created_at: model.createdMs,
      updated_at: model.updatedMs,
      state: modelState(model, ready > 0, mine),
      ready_replicas: ready,
      replicas: mine.length,
      payload_bytes: current?.payloadBytes ?? null,
      header: current?.header ? toHeaderMessage(current.header) : null,
      last_loaded_at: info?.loadedAtMs ?? null,
      last_load_ms: info?.loadMs ?? null,
    }
  }
}
