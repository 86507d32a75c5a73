import { nearNames } from '../../core/lib/near-names.ts'
import { AppError } from '../../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { sendJson } from '../../http/server.ts'
import type { Caller } from '../access/guard.ts'
import type { LiveTable, ServedModel } from '../table/routing-table.ts'

type Table = Pick<LiveTable, 'hasSnapshot' | 'models' | 'model' | 'routesOf'>

const PATH = '/v1/models'
const SOON_S = 2

/** `/v1/models` and `/v1/models/<name>`. */
export function isModelsPath(path: string): boolean {
  return path === PATH || path.startsWith(`${PATH}/`)
}

export function answerModels(
  table: Table,
  request: HttpRequest,
  response: HttpResponse,
  path: string,
  caller: Caller,
): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new AppError('method_not_allowed', `${PATH} takes GET only.`, { allow: ['GET', 'HEAD'] })
  }
  if (!table.hasSnapshot()) throw noTable()
  const name = nameIn(path)
  if (name === '') {
    const models = table.models().filter((model) => mayUse(caller, model.name))
    sendJson(response, 200, { object: 'list', data: models.map((model) => viewModel(table, model)) })
  } else sendJson(response, 200, viewModel(table, findModel(table, name, caller)))
}

/** Names have slashes in them, and not every client encodes those. */
function nameIn(path: string): string {
  try {
    return decodeURIComponent(path.slice(PATH.length + 1))
  } catch {
    throw new AppError('bad_request', 'The name of the model in the path is not percent-encoded as it should be.')
  }
}

/** In OpenAI's shape, and what they do not have: how it is. All can be asked; those that are not ready are loaded then. */
function viewModel(table: Table, { name, createdAtMs, engine, state }: ServedModel): object {
  const created = Math.floor(createdAtMs / 1000)
  const ready = table.routesOf(name).length
  return { id: name, object: 'model', created, owned_by: 'flotilla', engine, state, ready_replicas: ready }
}

/** The model, if it is known and this caller may use it. */
export function findModel(table: Table, name: string, caller: Caller): ServedModel {
  if (!mayUse(caller, name)) {
    const text = `This key may not use the model "${name}". GET /v1/models lists those that it may.`
    throw new AppError('forbidden', text, { details: { param: 'model' } })
  }
  const model = table.model(name)
  if (model) return model
  throw table.hasSnapshot() ? unknownModel(table, name, caller) : noTable()
}

export function mayUse({ models }: Caller, name: string): boolean {
  return models === null || models.includes(name)
}

function unknownModel(table: Table, name: string, caller: Caller): AppError {
  const names = table.models().map((model) => model.name)
  const near = nearNames(
    name.slice(0, MOST_COMPARED),
    names.filter((other) => mayUse(caller, other)),
  )
  const hint =
    near.length > 0
      ? `Did you mean ${near.map((other) => `"${other}"`).join(' or ')}?`
      : `GET ${PATH} lists what there is.`
  return new AppError('model_not_found', `There is no model "${name}". ${hint}`, { details: { param: 'model' } })
}

/** Comparing takes the product of both lengths, and the name is a stranger's. */
const MOST_COMPARED = 200

function noTable(): AppError {
  const text = 'This gateway has not yet heard from the control plane which replicas there are. Try again in a moment.'
  return new AppError('unavailable', text, { retryAfterS: SOON_S })
}
