import { createHash } from 'node:crypto'
import type { ModelInput, RuleInput } from '../../api/admin/schemas.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import { SLOTS_LABEL } from '../../core/nodes/labels.ts'
import type { Model } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import { deleteModel, listModels, saveModel } from '../../store/models.ts'
import { deleteRule, listRules, saveRule, toRule } from '../../store/rules.ts'
import { change } from '../change.ts'
import { checkLabels } from '../registration.ts'
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

    async saveRule(input) {
      checkSelector(input.node_selector)
      return change(deps, async (tx, tell) => {
        const rule = await saveRule(tx, toRule(input))
        const { model_name: modelName, ...data } = input
        await tell({ actor: 'admin', action: 'rule.saved', modelName, reason: describeRule(input), data })
        return rule
      })
    },

    deleteRule: (_body, { name }) =>
      change(deps, async (tx, tell) => {
        if (!(await deleteRule(tx, name))) throw new AppError('not_found', `There is no rule for the model "${name}".`)
        const reason = `the rule for ${name} was removed`
        await tell({ actor: 'admin', action: 'rule.deleted', modelName: name, reason })
        return { deleted: name }
      }),
  }
}

/** A pair that no label can be would leave the rule unmet for ever. The label of the slots may be asked for like any. */
function checkSelector({ [SLOTS_LABEL]: _slots, ...labels }: RuleInput['node_selector']): void {
  checkLabels('node_selector', labels)
}

function describeRule({ model_name: name, min_replicas: min, max_replicas: max, node_selector }: RuleInput): string {
  const pairs = Object.entries(node_selector).map(([key, value]) => `${key}=${value}`)
  const where = pairs.length === 0 ? '' : ` on nodes with ${pairs.join(', ')}`
  return `${min} to ${max || 'any number of'} replicas of ${name}${where}`
}

/** A model as an admin wrote it, with its revision: the hash of what it means, whatever order it was written in. */
export function toModel({ name, engine, source, options }: ModelInput): Model {
  // Without a source as if there were none: models from before there were sources keep their revision.
  const meaning = source === null ? { engine, options } : { engine, source, options }
  const revision = createHash('sha256').update(canonicalJson(meaning)).digest('hex').slice(0, 16)
  return { name, engine, source, options, revision }
}
