import type { PlanChange } from '../../api/admin/plan-schemas.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import type { Model } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sql } from '../../store/sql.ts'
import { findRule } from '../../store/nouns/rules.ts'
import { viewChange } from '../views/change-view.ts'
import { viewOneModel } from '../views/model-view.ts'

export type Difference = PlanChange['fields'][number]

/** The sentence names so many; the answer has all. */
const MOST_TOLD = 10
const MOST_CHARS = 100

/** What adding it would change of the model of this name, and of its rule. */
export async function differences(
  sql: Sql,
  { before, after }: { before: Model; after: Model },
  replicas: number | undefined,
): Promise<Difference[]> {
  const { fields } = viewChange({ noun: 'model', name: after.name, before, after })
  const rule = await findRule(sql, after.name)
  if (replicas === undefined || !rule || (rule.min_replicas === replicas && !rule.spread_all)) return fields
  return [...fields, { field: 'replicas', before: rule.spread_all ? 'every node' : rule.min_replicas, after: replicas }]
}

/** The model exists and differs from the one in the call. */
export async function existsError(sql: Sql, name: string, fields: readonly Difference[]): Promise<AppError> {
  const told = fields.slice(0, MOST_TOLD).map(({ field, before, after }) => `${field} ${said(before)} → ${said(after)}`)
  const more = fields.length - told.length
  const difference = `${told.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  const text =
    `There is a model "${name}" already, and this would change it: ${difference}. Nothing was saved. ` +
    `To change it: flotilla models set (PUT /api/models/:name); to replace it whole: --replace (?replace=true).`
  const current = await viewOneModel(sql, name)
  return new AppError('conflict', text, { details: { param: 'name', current, differences: fields } })
}

function said(value: unknown): string {
  if (value === null) return 'none'
  const text = typeof value === 'string' ? value : canonicalJson(value)
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text
}
