import type { RuleInput } from '../../api/admin/rule-schemas.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import { listRules, saveRule, setRuleSource, toRule, type RuleRow, type RuleSettings } from '../../store/nouns/rules.ts'
import { change, type ChangeDeps } from './change.ts'
import { describeSettings, toSettings } from './rule-settings.ts'

/**
 * Applies the rules of the configuration to the cluster, all or none: each listed rule replaces that of its model as a
 * whole; others stay. A rule that is no longer listed stays, too, from now on as an admin's own: a forgotten line must not
 * stop a model.
 *
 * An unchanged rule is not written: frontends with the same configuration that start one after another change nothing.
 */
export async function applyDeclaredRules(deps: ChangeDeps, declared: readonly RuleInput[]): Promise<void> {
  await change(deps, async (tx, tell) => {
    const rows = new Map((await listRules(tx)).map((row) => [row.model_name, row]))
    for (const input of declared) {
      const settings = toSettings(input, 'config')
      const { model_name: modelName, ...data } = input
      const before = rows.get(modelName)
      rows.delete(modelName)
      if (before && isSame(before, settings)) continue
      await saveRule(tx, settings)
      const reason = describeSettings(settings)
      await tell({ actor: 'config', action: 'rule.saved', modelName, reason, data: { ...data, source: 'config' } })
    }
    for (const { model_name: modelName } of [...rows.values()].filter(({ source }) => source === 'config')) {
      await setRuleSource(tx, modelName, 'api')
      const reason = `the rule for ${modelName} is no longer in the configuration; it stays until an admin removes it`
      await tell({ actor: 'config', action: 'rule.released', modelName, reason })
    }
  })
}

function isSame(row: RuleRow, settings: RuleSettings): boolean {
  const { unsatisfiableUntilMs: _until, unsatisfiableTicks: _ticks, ...before } = toRule(row)
  return canonicalJson(before) === canonicalJson(settings)
}
