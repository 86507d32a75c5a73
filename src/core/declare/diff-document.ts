import { canonicalJson } from '../lib/canonical-json.ts'
import type { Model, Rule } from '../types.ts'
import type { Change, Declaration, DeclaredRule, NodeEntry, Overrides, Settings } from './types.ts'

export interface DiffOptions {
  /** Removes what the document does not list. */
  prune: boolean
}

/** The changes that make the cluster match the document: models first, then rules, then nodes, each by name. */
export function diffDocument(settings: Settings, wanted: Declaration, { prune }: DiffOptions): Change[] {
  return [
    ...diffModels(settings.models, wanted.models, prune),
    ...diffRules(settings.rules, wanted.rules, prune),
    ...diffNodes(settings.nodes, wanted.nodes, prune),
  ]
}

/** Listed nodes that are not there: nothing can be set on them before they have joined. */
export function absentNodes({ nodes }: Settings, wanted: Declaration): string[] {
  const known = new Set(nodes.map(({ name }) => name))
  return wanted.nodes.flatMap(({ name }) => (known.has(name) ? [] : [name])).toSorted()
}

function diffModels(before: readonly Model[], wanted: readonly Model[], prune: boolean): Change[] {
  const had = new Map(before.map((model) => [model.name, model]))
  const changes: Change[] = []
  for (const after of wanted) {
    const one = had.get(after.name)
    had.delete(after.name)
    if (one && isSameModel(one, after)) continue
    changes.push({ noun: 'model', name: after.name, ...(one ? { before: one } : {}), after })
  }
  if (prune) for (const one of had.values()) changes.push({ noun: 'model', name: one.name, before: one })
  return changes.toSorted(byName)
}

function isSameModel(a: Model, b: Model): boolean {
  const meaning = ({ name, engine, source, options, memory, antiAffinity, revision }: Model): string =>
    canonicalJson({ name, engine, source, options, memory, antiAffinity, revision })
  return meaning(a) === meaning(b)
}

function diffRules(before: readonly Rule[], wanted: readonly DeclaredRule[], prune: boolean): Change[] {
  const had = new Map(before.map((rule) => [rule.modelName, rule]))
  const changes: Change[] = []
  for (const after of wanted) {
    const name = after.modelName
    const one = had.get(name)
    had.delete(name)
    if (one && canonicalJson(declaredPart(one)) === canonicalJson(declaredPart(after))) continue
    changes.push({ noun: 'rule', name, ...(one ? { before: one } : {}), after })
  }
  // The next start would make a rule of the configuration again.
  const surplus = prune ? [...had.values()].filter(({ source }) => source === 'api') : []
  for (const one of surplus) changes.push({ noun: 'rule', name: one.modelName, before: one })
  return changes.toSorted(byName)
}

/** What a rule asks for, whatever came of it. */
export function declaredPart(rule: DeclaredRule): DeclaredRule {
  const { modelName, nodeSelector, routePolicy, minReplicas, maxReplicas, spreadAll, scaleToZeroAfterMs } = rule
  return { modelName, nodeSelector, routePolicy, minReplicas, maxReplicas, spreadAll, scaleToZeroAfterMs }
}

function diffNodes(nodes: Settings['nodes'], wanted: readonly NodeEntry[], prune: boolean): Change[] {
  const entries = new Map(wanted.map((entry) => [entry.name, entry]))
  return nodes
    .flatMap(({ id, name, overrides }): Change[] => {
      const entry = entries.get(name)
      if (!entry && !prune) return []
      const after = overridesAfter(overrides, entry ?? { name }, prune)
      if (canonicalJson(after) === canonicalJson(overrides)) return []
      return [{ noun: 'node', name, nodeId: id, before: overrides, after }]
    })
    .toSorted(byName)
}

function overridesAfter(before: Overrides, entry: NodeEntry, prune: boolean): Overrides {
  const { labels, slots, budget, isDraining } = entry
  const unsaid: Omit<Overrides, 'isDraining'> = prune ? NOTHING_SET : before
  return {
    labels: labels === undefined ? unsaid.labels : (labels ?? {}),
    slots: slots === undefined ? unsaid.slots : slots,
    budget: budget === undefined ? unsaid.budget : budget,
    // An admin drained it for a reason that the document does not know.
    isDraining: isDraining ?? before.isDraining,
  }
}

const NOTHING_SET = { labels: {}, slots: null, budget: null } as const

function byName(a: Change, b: Change): number {
  return a.name < b.name ? -1 : 1
}
