import { AppError } from '../../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { sendJson } from '../../http/server.ts'
import { findModel, mayUse, noTable } from '../access/find-model.ts'
import type { Caller } from '../access/guard.ts'
import type { LiveTable, ServedModel } from '../table/routing-table.ts'

type Table = Pick<LiveTable, 'hasSnapshot' | 'models' | 'model' | 'routesOf'>

const PATH = '/v1/models'

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

/** Model names may contain slashes, which not every client encodes. */
function nameIn(path: string): string {
  try {
    return decodeURIComponent(path.slice(PATH.length + 1))
  } catch {
    throw new AppError('bad_request', 'The name of the model in the path is not percent-encoded as it should be.')
  }
}

/** OpenAI's format plus the model's state. Every model can be requested; one that is not ready is loaded then. */
function viewModel(table: Table, { name, createdAtMs, engine, state }: ServedModel): object {
  const created = Math.floor(createdAtMs / 1000)
  const ready = table.routesOf(name).length
  return { id: name, object: 'model', created, owned_by: 'flotilla', engine, state, ready_replicas: ready }
}
