import type { RuleInput } from '../../api/admin/rule-schemas.ts'
import type { AppError } from '../../platform/errors.ts'
import type { Sql } from '../../store/database.ts'
import { deleteRule, findRule, saveRule } from '../../store/rules.ts'
import { change, type Tell } from '../change.ts'
import { describeSettings, toSettings } from '../rule-settings.ts'
import type { Answers } from './answers.ts'
import type { AdminDeps } from './deps.ts'
import { noRule, OVERWRITTEN, viewOneRule, viewRules } from './rule-view.ts'
import { conflictError, isChangedSince, seenAt } from './unchanged.ts'

export function ruleAnswers(deps: AdminDeps): Answers<'listRules' | 'getRule' | 'saveRule' | 'deleteRule'> {
  return {
    listRules: () => viewRules(deps.db),
    getRule: (_body, { name }) => viewOneRule(deps.db, name),

    async saveRule(input, _params, { request }) {
      const seenMs = seenAt(request)
      const isSaved = await change(deps, async (tx, tell) => {
        const before = await findRule(tx, input.model_name)
        if (isChangedSince(before?.updated_at, seenMs)) return false
        await writeRule(tx, tell, input)
        return true
      })
      if (!isSaved) throw await ruleConflict(deps.db, input.model_name)
      // After it, not within: a transaction that had read the whole world would be run again at every heartbeat.
      return viewOneRule(deps.db, input.model_name)
    },

    deleteRule: (_body, { name }) =>
      change(deps, async (tx, tell) => {
        await removeRule(tx, tell, name)
        return { deleted: name }
      }),
  }
}

async function ruleConflict(db: Sql, modelName: string): Promise<AppError> {
  const current = (await findRule(db, modelName)) ? await viewOneRule(db, modelName) : null
  const actions = ['rule.saved', 'rule.deleted'] as const
  return conflictError(db, { what: `The rule for "${modelName}"`, modelName, actions, current })
}

export async function writeRule(tx: Sql, tell: Tell, input: RuleInput): Promise<void> {
  // Who changes a rule of the configuration does not take it out of there: the next start brings it back.
  const source = (await findRule(tx, input.model_name))?.source ?? 'api'
  const settings = toSettings(input, source)
  await saveRule(tx, settings)
  const { model_name: modelName, ...data } = input
  const reason = withWarning(describeSettings(settings), source)
  await tell({ action: 'rule.saved', modelName, reason, data: { ...data, source } })
}

export async function removeRule(tx: Sql, tell: Tell, modelName: string): Promise<void> {
  const rule = await findRule(tx, modelName)
  if (!rule || !(await deleteRule(tx, modelName))) throw noRule(modelName)
  const reason = withWarning(`the rule for ${modelName} was removed`, rule.source)
  await tell({ action: 'rule.deleted', modelName, reason })
}

function withWarning(text: string, source: 'api' | 'config'): string {
  return source === 'config' ? `${text}. ${OVERWRITTEN}` : text
}
