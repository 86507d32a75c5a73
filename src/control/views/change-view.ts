import type { PlanChange } from '../../api/admin/plan-schemas.ts'
import type { Change, DeclaredRule, Overrides } from '../../core/declare/types.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import type { Model } from '../../core/types.ts'
import { OVERWRITTEN } from './rule-view.ts'

type Fields = Readonly<Record<string, unknown>>

/** A change field by field, in the words of the API. */
export function viewChange(change: Change): PlanChange {
  const { noun, name } = change
  switch (change.noun) {
    case 'model': {
      const { before, after } = change
      const revision = { before: before?.revision ?? null, after: after?.revision ?? null }
      const fields = differing(before && modelFields(before), after && modelFields(after))
      return { noun, name, action: actionOf(before, after), fields, revision, warning: null }
    }
    case 'rule': {
      const { before, after } = change
      const fields = differing(before && ruleFields(before), after && ruleFields(after))
      const warning = before?.source === 'config' ? OVERWRITTEN : null
      return { noun, name, action: actionOf(before, after), fields, revision: null, warning }
    }
    case 'node': {
      const [before, after] = [overrideFields(change.before), overrideFields(change.after)]
      const action = actionOf(isEmpty(before) ? undefined : before, isEmpty(after) ? undefined : after)
      return { noun, name, action, fields: differing(before, after), revision: null, warning: null }
    }
    case 'machine': {
      const action = change.is === 'added' ? 'add' : 'remove'
      return { noun, name, action, fields: [], revision: null, warning: null }
    }
  }
}

function actionOf(before: object | undefined, after: object | undefined): PlanChange['action'] {
  if (!before) return 'add'
  return after ? 'change' : 'remove'
}

/** What is removed goes with all its fields: they need not be listed. */
function differing(before: Fields = {}, after?: Fields): PlanChange['fields'] {
  if (!after) return []
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .map((field) => ({ field, before: valueOf(before, field), after: valueOf(after, field) }))
    .filter((one) => canonicalJson(one.before) !== canonicalJson(one.after))
}

function valueOf(fields: Fields, name: string): unknown {
  return (Object.hasOwn(fields, name) ? fields[name] : undefined) ?? null
}

/** Without what is not set. */
function modelFields({ engine, source, options, memory, antiAffinity }: Model): Fields {
  return {
    engine,
    ...(source === null ? {} : { source }),
    ...prefixed('options', options),
    ...(memory ? { memory } : {}),
    ...(antiAffinity === null ? {} : { anti_affinity: antiAffinity }),
  }
}

/** Without what is as usual. */
function ruleFields(rule: DeclaredRule): Fields {
  const { spreadAll, minReplicas, maxReplicas, nodeSelector, scaleToZeroAfterMs: idleMs, routePolicy } = rule
  return {
    ...(spreadAll ? { spread_all: true } : { min_replicas: minReplicas, max_replicas: maxReplicas }),
    ...(isEmpty(nodeSelector) ? {} : { node_selector: nodeSelector }),
    ...(idleMs === null ? {} : { scale_to_zero_after_s: idleMs / 1000 }),
    ...(routePolicy === 'least_loaded' ? {} : { route_policy: routePolicy }),
  }
}

function overrideFields({ labels, slots, budget, isDraining }: Overrides): Fields {
  return {
    ...prefixed('labels', labels),
    ...(slots === null ? {} : { max_replicas_per_model: slots }),
    ...(budget === null ? {} : { vram_budget: budget }),
    ...(isDraining ? { drain: true } : {}),
  }
}

function prefixed(prefix: string, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${prefix}.${name}`, value]))
}

function isEmpty(fields: object): boolean {
  return Object.keys(fields).length === 0
}
