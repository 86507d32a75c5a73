import type { z } from 'zod'
import { ruleInput, type RuleView } from '../../../../src/api/admin/rule-schemas.ts'
import { idleText, modeOf, policyTexts, type RuleMode } from './rule-mode.ts'
import { pairsOf, pairText, selectorOf } from './selector-pairs.ts'

/** What is typed into the form of a rule. */
export interface RuleDraft {
  modelName: string
  mode: RuleMode
  pairs: Readonly<Record<string, string>>
  min: number
  max: number
  /** Seconds; 0 is never. */
  scaleToZero: number
  routePolicy: RuleView['route_policy']
}

export type RuleBody = z.input<typeof ruleInput>

export function blankDraft(modelName = ''): RuleDraft {
  return { modelName, mode: 'auto', pairs: {}, min: 1, max: 0, scaleToZero: 0, routePolicy: 'least_loaded' }
}

export function draftOf(rule: RuleView): RuleDraft {
  const mode = modeOf(rule)
  return {
    modelName: rule.model_name,
    mode: mode === 'inactive' ? 'pin' : mode,
    pairs: pairsOf(rule.node_selector),
    min: rule.min_replicas,
    max: rule.max_replicas,
    scaleToZero: rule.scale_to_zero_after_s ?? 0,
    routePolicy: rule.route_policy,
  }
}

/** Only what its mode means is sent, whatever was typed while it had another. */
export function bodyOf({ modelName, mode, pairs, min, max, scaleToZero, routePolicy }: RuleDraft): RuleBody {
  const isAuto = mode === 'auto'
  return {
    model_name: modelName.trim(),
    ...(Object.keys(pairs).length === 0 ? {} : { node_selector: selectorOf(pairs) }),
    min_replicas: isAuto ? min : 0,
    max_replicas: isAuto ? max : 0,
    ...(mode === 'spread' ? { spread_all: true } : {}),
    ...(isAuto && min === 0 && scaleToZero > 0 ? { scale_to_zero_after_s: scaleToZero } : {}),
    route_policy: routePolicy,
  }
}

export type RuleField = 'model' | 'selector' | 'min' | 'max' | 'scaleToZero' | 'other'

export interface RuleMistake {
  field: RuleField
  text: string
}

/** The first thing that keeps it from being saved. */
export function mistakeOf(draft: RuleDraft): RuleMistake | undefined {
  const { modelName, mode, pairs, min, max, scaleToZero } = draft
  if (modelName.trim() === '') return { field: 'model', text: 'Name the model that the rule is for.' }
  if (mode === 'pin' && Object.keys(pairs).length === 0) {
    return { field: 'selector', text: 'Add at least one label that nodes must have.' }
  }
  if (mode === 'auto' && min === 0 && max === 0 && scaleToZero === 0) {
    return { field: 'min', text: 'Give a minimum, a maximum, or a time after which none is kept.' }
  }
  if (mode === 'auto' && max > 0 && max < min) {
    return { field: 'max', text: 'The maximum must be 0 (no limit) or at least the minimum.' }
  }
  const { error } = ruleInput.safeParse(bodyOf(draft))
  if (!error) return undefined
  const { path, message } = error.issues[0]!
  const [first, ...rest] = path.map(String)
  return { field: FIELDS[first ?? ''] ?? 'other', text: rest.length === 0 ? message : `${rest.join('.')}: ${message}` }
}

const FIELDS: Readonly<Record<string, RuleField>> = {
  model_name: 'model',
  node_selector: 'selector',
  min_replicas: 'min',
  max_replicas: 'max',
  scale_to_zero_after_s: 'scaleToZero',
}

/** All of a draft in words, to show two of them side by side. */
export function draftWords(draft: RuleDraft): Record<string, string> {
  const { mode, pairs, min, max, scaleToZero, routePolicy } = draft
  const isAuto = mode === 'auto'
  return {
    Mode: { pin: 'Pin to nodes', auto: 'Auto-scale', spread: 'Spread to all' }[mode],
    'Node selector':
      Object.entries(pairs)
        .map(([key, text]) => pairText(key, text))
        .join(' ') || 'any node',
    Minimum: isAuto ? String(min) : '–',
    Maximum: isAuto ? (max === 0 ? 'no limit' : String(max)) : '–',
    'Scale to zero after': isAuto && min === 0 && scaleToZero > 0 ? idleText(scaleToZero) : 'never',
    Routing: policyTexts[routePolicy] ?? routePolicy,
  }
}
