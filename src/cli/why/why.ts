import type { ModelExplanation } from '../../api/admin/model-schemas.ts'
import { nearNames } from '../../core/lib/near-names.ts'
import { AppError } from '../../platform/errors.ts'
import { show, viewOf, type Act, type Client } from '../client.ts'
import { notFound } from '../find-one.ts'
import { renderDecision } from './decision.ts'
import { renderExplanation } from './explanation.ts'

/** Why a model is where it is; or, when there is no model of that name, how a request was routed. */
export const why: Act = async (client, { values }) => {
  const wanted = values[0]!
  const explanation = await explainModel(client, wanted)
  if (explanation) return show(client, explanation, () => renderExplanation(explanation, viewOf(client)))
  const decision = await explainRequest(client, wanted)
  return show(client, decision, () => renderDecision(decision, viewOf(client)))
}

/** Undefined when there is no model of that name. */
async function explainModel({ api }: Client, name: string): Promise<ModelExplanation | undefined> {
  try {
    return await api.call('explainModel', { name })
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  }
}

async function explainRequest({ api }: Client, id: string) {
  try {
    return await api.call('explainRequest', { id })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error
    const models = (await api.call('listModels')).map(({ name }) => name)
    // An id close to a model's name is probably a mistyped name.
    if (nearNames(id, models).length > 0) throw notFound('model', id, models)
    throw new AppError('not_found', `${error.message} There is no model of that name either.`)
  }
}
