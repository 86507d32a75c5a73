import { budgetBytes, parseBudget } from '../nodes/budget.ts'
import { effectiveLabels } from '../nodes/labels.ts'
import type { Model, Node, Rule, World } from '../types.ts'
import type { Change, DeclaredRule, NodeSettings, Overrides, Settings } from './types.ts'

/** The world as it is when the changes have been made, and nothing has come of them yet. */
export function worldAfter(
  world: World,
  { nodes: settings }: Pick<Settings, 'nodes'>,
  changes: readonly Change[],
): World {
  const models = new Map(world.models.map((model): [string, Model] => [model.name, model]))
  const rules = new Map(world.rules.map((rule) => [rule.modelName, rule]))
  const nodes = new Map(world.nodes.map((node): [string, Node] => [node.id, node]))
  const settingsOf = new Map(settings.map((one) => [one.id, one]))
  for (const change of changes) {
    if (change.noun === 'model') put(models, change.name, change.after)
    if (change.noun === 'rule') put(rules, change.name, change.after && toRule(change.after, change.before))
    if (change.noun !== 'node') continue
    const [node, known] = [nodes.get(change.nodeId), settingsOf.get(change.nodeId)]
    if (node && known) nodes.set(node.id, nodeWith(node, known, change.after))
  }
  return { ...world, models: [...models.values()], rules: [...rules.values()], nodes: [...nodes.values()] }
}

function put<T>(all: Map<string, T>, name: string, value: T | undefined): void {
  if (value === undefined) all.delete(name)
  else all.set(name, value)
}

/** A rule that is changed asks anew. */
export function toRule(declared: DeclaredRule, before: Rule | undefined): Rule {
  return { ...declared, source: before?.source ?? 'api', unsatisfiableUntilMs: null, unsatisfiableTicks: 0 }
}

function nodeWith(node: Node, { nodeType, declared }: NodeSettings, overrides: Overrides): Node {
  const slots = nodeType === 'agent' ? 0 : (overrides.slots ?? declared.slots)
  const mine = Object.entries(overrides.labels).map(([key, value]) => ({ key, value, source: 'admin' as const }))
  const labels = effectiveLabels([...declared.labels, ...mine], slots)
  return {
    ...node,
    desired: overrides.isDraining ? 'draining' : 'active',
    maxReplicasPerModel: slots,
    labels: Object.fromEntries(labels.map(({ key, value }) => [key, value])),
    vramBudget: budgetOn(node, overrides.budget ?? declared.budget),
  }
}

/** Without a device there is nothing to take a share of. */
function budgetOn({ devices }: Node, text: string | null): number | null {
  const budget = text === null ? undefined : parseBudget(text)
  if (!budget || devices.length === 0) return null
  return budgetBytes(
    budget,
    devices.reduce((sum, { totalVram }) => sum + totalVram, 0),
  )
}
