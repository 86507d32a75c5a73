import type { ModelView, NodeView, ReplicaView, RuleView } from '../../api/admin/schemas.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import type { View } from '../client.ts'
import { facts, type Fact } from '../facts.ts'
import { counted, shellWord, span } from '../format.ts'
import { replicaText, withErrors } from '../replica-text.ts'
import { table } from '../table.ts'
import { plain } from '../text-width.ts'
import { sourceText } from './source-text.ts'

const INDENT = 2

export interface OneModel {
  model: ModelView
  rule: RuleView | null
  replicas: readonly ReplicaView[]
  nodes: readonly NodeView[]
  /** What keeps it from running, if that is known. */
  hint: readonly string[]
}

/** One model, its rule and its replicas. */
export function renderModel({ model, rule, replicas, nodes, hint }: OneModel, view: View): string[] {
  const { paint, nowMs, sameCluster } = view
  const failed = replicas.find(({ state }) => state === 'failed')
  const options = Object.entries(model.options).map(([name, value]) => `${name}=${value}`)
  const about: Fact[] = [
    ['Engine', model.engine],
    ['Source', model.source === null ? 'none' : sourceText(model.source)],
    ['Options', options.length === 0 ? 'none' : options.join(', ')],
    ['Rule', ruleText(rule)],
    ['Nodes', ...selectorTexts(rule)],
    ['Routing', ...(rule === null ? [] : [rule.route_policy])],
    ['Revision', model.revision],
    ['Added', `${span(nowMs - model.created_at)} ago, changed ${span(nowMs - model.updated_at)} ago`],
  ]
  return [
    paint('bold', plain(model.name)),
    ...facts(about, view),
    ...(hint.length === 0 ? [] : ['', ...hint.map((line) => paint('yellow', line))]),
    ...(replicas.length === 0 ? [] : ['', paint('bold', 'Replicas'), ...replicaTable(replicas, nodes, view)]),
    ...(failed ? ['', `flotilla logs ${shellWord(keyOf(failed))}${sameCluster} shows why one failed.`] : []),
  ]
}

function ruleText(rule: RuleView | null): string {
  if (!rule) return 'none: nothing is started by itself'
  const { min_replicas: min, max_replicas: max } = rule
  return `at least ${counted(min, 'replica')}, ${max === 0 ? 'no cap' : `at most ${max}`}`
}

function selectorTexts(rule: RuleView | null): string[] {
  const pairs = Object.entries(rule?.node_selector ?? {}).map(([key, value]) => `${key}=${value}`)
  return pairs.length === 0 ? [] : [`only with the labels ${pairs.join(', ')}`]
}

function replicaTable(replicas: readonly ReplicaView[], nodes: readonly NodeView[], view: View): string[] {
  const lines = table(
    [
      { title: 'REPLICA', shrink: { to: 12, turn: 2 } },
      { title: 'NODE', shrink: { to: 8, turn: 3 } },
      { title: 'IN FLIGHT', align: 'right' },
      { title: 'STATE', shrink: { to: 16, turn: 1 } },
    ],
    replicas.map((replica) => [
      plain(keyOf(replica)),
      plain(nodes.find(({ id }) => id === replica.node_id)?.name ?? replica.node_id),
      String(replica.in_flight),
      replicaText({ ...replica, error: null }),
    ]),
    { ...view, indent: INDENT },
  )
  return withErrors(lines, replicas, view)
}

function keyOf({ model_name: name, replica_index: index }: ReplicaView): string {
  return replicaKey(name, index)
}
