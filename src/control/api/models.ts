import { createHash } from 'node:crypto'
import type { ModelInput } from '../../api/admin/schemas.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import type { Model } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import { deleteModel, listModels, saveModel } from '../../store/models.ts'
import { deleteRule, listRules, saveRule } from '../../store/rules.ts'
import { change } from '../change.ts'
import type { Answers } from './answers.ts'
import type { AdminDeps } from './deps.ts'

export function modelAnswers(
  deps: AdminDeps,
): Answers<'listModels' | 'saveModel' | 'deleteModel' | 'listRules' | 'saveRule' | 'deleteRule'> {
  const { db } = deps
  return {
    listModels: () => listModels(db),

    saveModel: (input) =>
      change(deps, async (tx, tell) => {
        const model = await saveModel(tx, toModel(input))
        const [modelName, data] = [model.name, { engine: model.engine, revision: model.revision }]
        await tell({ actor: 'admin', action: 'model.saved', modelName, reason: `model ${modelName} was saved`, data })
        return model
      }),

    deleteModel: (_body, { name }) =>
      change(deps, async (tx, tell) => {
        if (!(await deleteModel(tx, name))) throw new AppError('not_found', `There is no model "${name}".`)
        const reason = `model ${name} was removed`
        await tell({ actor: 'admin', action: 'model.deleted', modelName: name, reason })
        return { deleted: name }
      }),

    listRules: () => listRules(db),

    saveRule: ({ model_name: modelName, min_replicas: minReplicas, max_replicas: maxReplicas }) =>
      change(deps, async (tx, tell) => {
        const rule = await saveRule(tx, { modelName, minReplicas, maxReplicas })
        const reason = `${minReplicas} to ${maxReplicas || 'any number of'} replicas of ${modelName}`
        const data = { min_replicas: minReplicas, max_replicas: maxReplicas }
        await tell({ actor: 'admin', action: 'rule.saved', modelName, reason, data })
        return rule
      }),

    deleteRule: (_body, { name }) =>
      change(deps, async (tx, tell) => {
        if (!(await deleteRule(tx, name))) throw new AppError('not_found', `There is no rule for the model "${name}".`)
        const reason = `the rule for ${name} was removed`
        await tell({ actor: 'admin', action: 'rule.deleted', modelName: name, reason })
        return { deleted: name }
      }),
  }
}

/** A model as an admin wrote it, with its revision: the hash of what it means, whatever order it was written in. */
export function toModel({ name, engine, source, options }: ModelInput): Model {
  // Without a source as if there were none: models from before there were sources keep their revision.
  const meaning = source === null ? { engine, options } : { engine, source, options }
  const revision = createHash('sha256').update(canonicalJson(meaning)).digest('hex').slice(0, 16)
  return { name, engine, source, options, revision }
}
