import type { DocumentInput } from '../../api/admin/document.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import type { Change } from '../../core/declare/types.ts'
import type { Replica } from '../../core/types.ts'
import type { Sql } from '../../store/sql.ts'
import { setAdminLabels } from '../api/nouns/nodes/labels.ts'
import { writeBudget, writeSlots } from '../api/nouns/nodes/node-limits.ts'
import { effectOf } from '../../core/explain/model-effect.ts'
import { removeModel, writeModel } from '../api/nouns/models/models.ts'
import { neededNode } from '../views/node-view.ts'
import { writeDesired } from '../api/nouns/nodes/nodes.ts'
import { removeRule, writeRule } from '../api/nouns/rules.ts'
import type { Tell } from './change.ts'

/** Writes what differs, one after the other, with the same events as if each were made by itself. */
export async function applyChanges(
  tx: Sql,
  tell: Tell,
  changes: readonly Change[],
  { document, replicas }: { document: DocumentInput; replicas: readonly Replica[] },
): Promise<void> {
  const rules = new Map(document.rules.map((rule) => [rule.model_name, rule]))
  const byModel = Map.groupBy(replicas, ({ modelName }) => modelName)
  for (const change of changes) {
    if (change.noun === 'model') await applyModel(tx, tell, change, byModel.get(change.name) ?? [])
    else if (change.noun === 'node') await applyNode(tx, tell, change)
    else if (change.noun === 'rule') {
      const input = rules.get(change.name)
      if (change.after && input) await writeRule(tx, tell, input)
      else await removeRule(tx, tell, change.name)
    }
  }
}

type ChangeOf<N extends Change['noun']> = Extract<Change, { noun: N }>

async function applyModel(
  tx: Sql,
  tell: Tell,
  { name, before, after }: ChangeOf<'model'>,
  replicas: readonly Replica[],
): Promise<void> {
  if (!after) return removeModel(tx, tell, name)
  const { replaced } = effectOf({ before, after, replicas, rule: undefined })
  return writeModel(tx, tell, after, replaced)
}

async function applyNode(tx: Sql, tell: Tell, { nodeId, before, after }: ChangeOf<'node'>): Promise<void> {
  const node = await neededNode(tx, nodeId)
  if (canonicalJson(before.labels) !== canonicalJson(after.labels)) await setAdminLabels(tx, tell, node, after.labels)
  if (before.slots !== after.slots) await writeSlots(tx, tell, node, after.slots)
  if (before.budget !== after.budget) await writeBudget(tx, tell, node, after.budget)
  const desired = after.isDraining ? 'draining' : 'active'
  if (before.isDraining !== after.isDraining) await writeDesired(tx, tell, node, desired)
}
