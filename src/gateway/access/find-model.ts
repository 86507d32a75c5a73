import { nearNames } from '../../core/lib/near-names.ts'
import { AppError } from '../../platform/errors.ts'
import type { LiveTable, ServedModel } from '../table/routing-table.ts'
import type { Caller } from './guard.ts'

type Table = Pick<LiveTable, 'hasSnapshot' | 'models' | 'model'>

const SOON_S = 2

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
      : 'GET /v1/models lists what there is.'
  return new AppError('model_not_found', `There is no model "${name}". ${hint}`, { details: { param: 'model' } })
}

/** A limit, because comparing takes the product of both lengths, and the client chooses the name. */
const MOST_COMPARED = 200

export function noTable(): AppError {
  const text = 'This gateway has not yet received the replicas from the control plane. Try again in a moment.'
  return new AppError('unavailable', text, { retryAfterS: SOON_S })
}
