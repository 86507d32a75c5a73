import type { ModelView } from '../../api/admin/model-schemas.ts'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import type { NodeView, ReplicaView } from '../../api/admin/schemas.ts'
import { printSelector } from '../../core/nodes/selector-text.ts'
import { formatBytes } from '../../core/lib/bytes.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import type { View } from '../client.ts'
import { facts, type Fact } from '../facts.ts'
import { counted, duration, gib, shellWord, span } from '../terminal/format.ts'
import { claimText, measuredText } from '../text/memory-text.ts'
import { replicaText, withErrors } from '../text/replica-text.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'
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
    ['State', `${model.state}, ${model.ready_replicas} of ${counted(model.replicas, 'replica')} can serve`],
    ['Engine', model.engine],
    ['Source', model.source === null ? 'none' : sourceText(model.source)],
    ['Origin', ...(model.origin === 'folder' ? ['a file in the folder that a frontend serves; it goes with it'] : [])],
    ['Options', options.length === 0 ? 'none' : options.join(', ')],
    ['Files', ...fileTexts(model)],
    ['Memory', memoryText(model)],
    ['Apart', ...apartTexts(model)],
    ['Rule', ruleText(rule)],
    ['Nodes', ...selectorTexts(rule)],
    ['Routing', ...(rule === null ? [] : [rule.route_policy])],
    ['Revision', model.revision],
    ['Added', `${span(nowMs - model.created_at)} ago, changed ${span(nowMs - model.updated_at)} ago`],
    ['Loaded', ...loadedTexts(model, nowMs)],
  ]
  return [
    paint('bold', plain(model.name)),
    ...facts(about, view),
    ...(hint.length === 0 ? [] : ['', ...hint.map((line) => paint('yellow', line))]),
    ...(replicas.length === 0 ? [] : ['', paint('bold', 'Replicas'), ...replicaTable(replicas, nodes, view)]),
    ...(model.state === 'ready'
      ? []
      : ['', `flotilla why ${shellWord(model.name)}${sameCluster} tells where it could run.`]),
    ...(failed ? ['', `flotilla logs ${shellWord(keyOf(failed))}${sameCluster} shows why one failed.`] : []),
  ]
}

function fileTexts({ payload_bytes: bytes, header }: ModelView): string[] {
  const parts = [
    ...(bytes === null ? [] : [formatBytes(bytes)]),
    ...(header ? [header.format, header.architecture] : []),
    ...(header?.quantisation ? [header.quantisation] : []),
    ...(header ? [counted(header.layers, 'layer'), `trained for ${counted(header.context, 'token')}`] : []),
  ]
  return parts.length === 0 ? [] : [parts.join(', ')]
}

function memoryText({ memory }: ModelView): string {
  if (!memory) return 'is found out by itself'
  return `${gib(memory.vram)} of VRAM and ${gib(memory.ram)} of RAM for a replica, as configured`
}

function apartTexts({ anti_affinity: name }: ModelView): string[] {
  return name === null ? [] : [`never on one node with others of "${name}"`]
}

function loadedTexts({ last_loaded_at: at, last_load_ms: ms }: ModelView, nowMs: number): string[] {
  return at === null || ms === null ? [] : [`${span(nowMs - at)} ago, in ${duration(ms)}`]
}

function ruleText(rule: RuleView | null): string {
  if (!rule) return 'none: its first request loads it'
  const { min_replicas: min, max_replicas: max } = rule
  if (rule.spread_all) return 'one replica on every node that it is for'
  return `at least ${counted(min, 'replica')}, ${max === 0 ? 'no cap' : `at most ${max}`}`
}

function selectorTexts(rule: RuleView | null): string[] {
  const text = printSelector(rule?.node_selector ?? {})
  return text === '' ? [] : [`only with the labels ${text}`]
}

function replicaTable(replicas: readonly ReplicaView[], nodes: readonly NodeView[], view: View): string[] {
  const lines = table(
    [
      { title: 'REPLICA', shrink: { to: 12, turn: 2 } },
      { title: 'NODE', shrink: { to: 8, turn: 3 } },
      { title: 'IN FLIGHT', align: 'right' },
      { title: 'CLAIM', align: 'right', optional: true },
      { title: 'MEASURED', align: 'right', optional: true },
      { title: 'STATE', shrink: { to: 16, turn: 1 } },
    ],
    replicas.map((replica) => [
      plain(keyOf(replica)),
      plain(nodes.find(({ id }) => id === replica.node_id)?.name ?? replica.node_id),
      String(replica.in_flight),
      claimText(replica),
      measuredText(replica),
      replicaText({ ...replica, error: null }),
    ]),
    { ...view, indent: INDENT },
  )
  return withErrors(lines, replicas, view)
}

function keyOf({ model_name: name, replica_index: index }: ReplicaView): string {
  return replicaKey(name, index)
}
