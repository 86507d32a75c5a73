import type { RuleInput } from '../../../api/admin/rule-schemas.ts'
import type { AppError } from '../../../platform/errors.ts'
import type { Sql } from '../../../store/sql.ts'
import { deleteRule, findRule, saveRule } from '../../../store/nouns/rules.ts'
import { declaredPart } from '../../../core/declare/diff-document.ts'
import { leftWithout } from '../../../core/declare/left-without.ts'
import { toRule } from '../../../core/declare/world-after.ts'
import { worldIf } from '../../../core/declare/world-if.ts'
import { loadWorld, type StoredWorld } from '../../../store/world/world.ts'
import { change, type Tell } from '../../changes/change.ts'
import { leftText, noNodeMatches } from '../../../core/explain/effect-text.ts'
import { needRoom } from '../../changes/most-rows.ts'
import { describeSettings, toSettings } from '../../changes/rule-settings.ts'
import type { Answers } from '../answers.ts'
import type { AdminDeps } from '../deps.ts'
import { noRule, OVERWRITTEN, viewOneRule, viewRules } from '../../views/rule-view.ts'
import { conflictError, isChangedSince, seenAt } from '../access/if-unmodified.ts'

export function ruleAnswers(deps: AdminDeps): Answers<'listRules' | 'getRule' | 'saveRule' | 'deleteRule'> {
  return {
    listRules: () => viewRules(deps.db),
    getRule: (_body, { name }) => viewOneRule(deps.db, name),

    async saveRule(input, _params, { request }) {
      const seenMs = seenAt(request)
      // Read before the change: a rule that only selects other nodes may take the serving replicas away.
      const world = Object.keys(input.node_selector).length === 0 ? undefined : await loadWorld(deps.db)
      const isSaved = await change(deps, async (tx, tell) => {
        const before = await findRule(tx, input.model_name)
        if (isChangedSince(before?.updated_at, seenMs)) return false
        await writeRule(tx, tell, input)
        return true
      })
      if (!isSaved) throw await ruleConflict(deps.db, input.model_name)
      // After it, not within: a transaction that had read the whole world would be run again at every heartbeat.
      const view = await viewOneRule(deps.db, input.model_name)
      const warnings = [view.warning, ...(world ? effectsOf(deps, world, input) : [])].filter((text) => text !== null)
      return { ...view, warning: warnings.length === 0 ? null : warnings.join(' ') }
    },

    deleteRule: (_body, { name }) =>
      change(deps, async (tx, tell) => {
        await removeRule(tx, tell, name)
        return { deleted: name }
      }),
  }
}

/** What the selector does to what serves, and why no node matches it. */
function effectsOf(deps: AdminDeps, world: StoredWorld, input: RuleInput): string[] {
  const rule = toRule(declaredPart(toSettings(input, 'api')), undefined)
  const { world: other } = worldIf(world, { lost: new Set(), added: [], rules: [rule] })
  const left = leftWithout(world, other, deps.placement).filter(({ isReplaced }) => !isReplaced)
  const unmatched = noNodeMatches(rule, world.nodes)
  return [...left.map(leftText), ...(unmatched === undefined ? [] : [unmatched])]
}

async function ruleConflict(db: Sql, modelName: string): Promise<AppError> {
  const current = (await findRule(db, modelName)) ? await viewOneRule(db, modelName) : null
  const actions = ['rule.saved', 'rule.deleted'] as const
  return conflictError(db, { what: `The rule for "${modelName}"`, modelName, actions, current })
}

/** `with`: it was made together with its model, and goes with it. */
export async function writeRule(tx: Sql, tell: Tell, input: RuleInput, more: { with?: 'model' } = {}): Promise<void> {
  // An edit does not remove a rule from the configuration: the next start brings it back.
  const source = (await findRule(tx, input.model_name))?.source ?? 'api'
  const settings = toSettings(input, source)
  await needRoom(tx, 'rules', input.model_name)
  await saveRule(tx, settings)
  const { model_name: modelName, ...data } = input
  const reason = withWarning(describeSettings(settings), source)
  await tell({ action: 'rule.saved', modelName, reason, data: { ...data, source, ...more } })
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
