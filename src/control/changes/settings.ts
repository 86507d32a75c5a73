import { createHash } from 'node:crypto'
import type { DocumentInput } from '../../api/admin/document.ts'
import { declaredPart } from '../../core/declare/diff-document.ts'
import type { Declaration, Settings } from '../../core/declare/types.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import type { Sql } from '../../store/sql.ts'
import { listModels } from '../../store/nouns/models.ts'
import { listNodeSettings } from '../../store/nouns/node-settings.ts'
import { listRules, toRule } from '../../store/nouns/rules.ts'
import { toModel } from '../api/nouns/models/models.ts'
import { toSettings } from './rule-settings.ts'

/** All that people have set. Models of a served folder are not among it: they come and go with their files. */
export async function loadSettings(sql: Sql): Promise<Settings> {
  return {
    models: (await listModels(sql)).filter(({ origin }) => origin === 'api'),
    rules: (await listRules(sql)).map(toRule),
    nodes: await listNodeSettings(sql),
  }
}

/**
 * What a plan is made for: everything that people have set, and which nodes take part. What changes by itself all the time,
 * memory and replicas, is no part of it, or no plan would last until it is applied.
 */
export function revisionOf({ models, rules, nodes }: Settings): string {
  const meaning = {
    models: models.map(({ name, revision, memory, antiAffinity }) => ({ name, revision, memory, antiAffinity })),
    rules: rules.map(declaredPart),
    nodes: nodes.map(({ id, name, takesPart, overrides }) => ({ id, name, takesPart, overrides })),
  }
  return createHash('sha256').update(canonicalJson(meaning)).digest('hex').slice(0, 16)
}

/** A document as decisions see it. */
export function toDeclaration({ models, rules, nodes }: DocumentInput): Declaration {
  return {
    models: models.map((model) => toModel(model)),
    rules: rules.map((rule) => declaredPart(toSettings(rule, 'api'))),
    nodes: nodes.map(({ name, labels, max_replicas_per_model: slots, vram_budget: budget, drain }) => ({
      name,
      labels,
      slots,
      budget: budget === null || budget === undefined ? budget : String(budget).trim(),
      isDraining: drain,
    })),
  }
}
