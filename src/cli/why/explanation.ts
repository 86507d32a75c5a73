import type { ModelExplanation } from '../../api/admin/model-schemas.ts'
import { hasAllWanted } from '../../core/lib/has-all-wanted.ts'
import { formatBytes } from '../../core/lib/bytes.ts'
import type { View } from '../client.ts'
import { facts, type Fact } from '../facts.ts'
import { counted, duration, gib, span } from '../terminal/format.ts'
import { loadingText } from '../text/load-text.ts'
import type { Look } from '../terminal/style.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import { nodeTable } from './node-table.ts'
import { replicaLines } from './replica-lines.ts'

const INDENT = 2

/**
 * One model: its state and the reason, where it runs, what it needs, and whether each node could take another replica.
 */
export function renderExplanation(explanation: ModelExplanation, view: View): string[] {
  const { paint } = view
  const { model_name: name, status } = explanation
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', paint('bold', title), ...lines]
  return [
    `${paint('bold', plain(name))}  ${paint(stateLooks[status.state], status.state)}`,
    ...facts(about(explanation, view), view),
    ...section('Replicas', replicaLines(explanation, view)),
    ...section('What one replica takes', memoryTable(explanation, view)),
    ...section('May it have another replica?', nodeTable(explanation, view)),
    ...section('What would help', hasAllWanted(explanation) ? [] : adviceLines(explanation, view)),
  ]
}

const stateLooks: Record<ModelExplanation['status']['state'], Look> = {
  ready: 'green',
  loading: 'yellow',
  waiting: 'yellow',
  refused: 'red',
  failed: 'red',
  stopped: 'dim',
  unknown: 'red',
}

function about(explanation: ModelExplanation, { nowMs }: View): Fact[] {
  const { status, last_decision: decision, last_load: loaded } = explanation
  const { loading, reason, next_attempt_at: next } = status
  return [
    [
      'Now',
      ...(loading && loading.state !== 'waiting' ? [loadingText(loading)] : []),
      ...(reason === null ? [] : [reason]),
      ...(status.state === 'ready' && hasAllWanted(explanation) ? ['it has all the replicas that are asked for'] : []),
    ],
    ['Wanted', wantedText(explanation, nowMs)],
    ['Next try', ...(next === null ? [] : [next <= nowMs ? 'now' : `in ${span(next - nowMs)}`])],
    ['Next one', nextText(explanation)],
    ['Decided', ...(decision ? [`${span(nowMs - decision.at)} ago: ${decision.reason}`] : [])],
    ['Loaded', ...(loaded ? [`${span(nowMs - loaded.at)} ago on ${loaded.node_name}, in ${duration(loaded.ms)}`] : [])],
    ['Revision', explanation.revision],
  ]
}

function wantedText({ wanted, wanted_since: since }: ModelExplanation, nowMs: number): string {
  const texts = [
    ...(wanted ? [`its rule asks for at least ${counted(wanted.min, 'replica')}, ${mostText(wanted.max)}`] : []),
    ...(since === null ? [] : [`requested ${span(nowMs - since)} ago`]),
  ]
  return texts.length === 0 ? 'no' : texts.join('; ')
}

function mostText(max: number): string {
  return max === 0 ? 'no cap' : `at most ${max}`
}

/** Where another replica would go. */
function nextText(explanation: ModelExplanation): string {
  const { next } = explanation
  if (!next) return hasAllWanted(explanation) ? 'would find no place, and none is asked for' : 'would find no place'
  const gpus = next.devices.length === 0 ? '' : `, gpu ${next.devices.join(' and ')}`
  const victims = next.victims.length === 0 ? '' : `, after stopping ${next.victims.join(', ')}`
  return `would go to ${next.node_name}${gpus}${victims}`
}

function memoryTable({ memory }: ModelExplanation, view: View): string[] {
  if (memory.length === 0) return []
  const lines = table(
    [
      { title: 'ON', shrink: { to: 12, turn: 1 } },
      { title: 'VRAM', align: 'right' },
      { title: 'RAM', align: 'right' },
      { title: 'SOURCE' },
    ],
    memory.map(({ device_kind: kind, vram, ram, share, source }) => [
      plain(kind),
      share === null ? amount(source, vram) : `${Math.round(share * 100)} % each`,
      amount(source, ram),
      source,
    ]),
    { ...view, indent: INDENT },
  )
  return lines.flatMap((line, i) => [line, ...partLines(memory[i - 1]?.parts ?? null, view)])
}

function amount(source: string, bytes: number): string {
  if (source === 'unknown') return '?'
  return bytes === 0 ? '-' : gib(bytes)
}

/** What a computed figure is made of, below its row. */
function partLines(parts: Readonly<Record<string, number>> | null, { width, paint }: View): string[] {
  const told = Object.entries(parts ?? {}).filter(([, bytes]) => bytes > 0)
  if (told.length === 0) return []
  const text = told.map(([name, bytes]) => `${plain(name).replaceAll('_', ' ')} ${formatBytes(bytes)}`).join(', ')
  return wrap(text, width - 2 * INDENT).map((line) => ' '.repeat(2 * INDENT) + paint('dim', line))
}

function adviceLines({ advice }: ModelExplanation, { width }: View): string[] {
  return advice.flatMap((text) =>
    wrap(plain(text), width - 2 * INDENT).map((line, i) => `${' '.repeat(INDENT)}${i === 0 ? '- ' : '  '}${line}`),
  )
}
