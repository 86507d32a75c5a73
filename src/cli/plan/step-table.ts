import type { PlanStep } from '../../api/admin/plan-schemas.ts'
import { formatBytes } from '../../core/lib/bytes.ts'
import type { StopReason } from '../../core/reconcile/plan.ts'
import type { View } from '../client.ts'
import { counted } from '../terminal/format.ts'
import type { Look } from '../terminal/style.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'

/** More rows than this do not fit on a screen. */
const MOST_ROWS = 40
const INDENT = 2

/** The steps in order: the node, its devices, the memory, and the reason. */
export function stepTable(steps: readonly PlanStep[], view: View): string[] {
  if (steps.length === 0) return []
  const more = steps.length - MOST_ROWS
  return [
    ...table(
      [
        { title: 'STEP' },
        { title: 'REPLICA', shrink: { to: 12, turn: 2 } },
        { title: 'NODE', shrink: { to: 8, turn: 3 } },
        { title: 'ON', shrink: { to: 5, turn: 4 } },
        { title: 'MEMORY', align: 'right' },
        { title: 'NOTE', shrink: { to: 10, turn: 1 } },
      ],
      steps
        .slice(0, MOST_ROWS)
        .map((step) => [
          { text: step.kind, look: looks[step.kind] },
          plain(step.key),
          plain(step.node_name),
          placeText(step),
          memoryText(step),
          plain(noteText(step)),
        ]),
      { ...view, indent: INDENT },
    ),
    ...(more > 0 ? [`${' '.repeat(INDENT)}and ${counted(more, 'step')} more; --json shows all`] : []),
  ]
}

const looks: Record<PlanStep['kind'], Look> = { start: 'green', stop: 'yellow', evict: 'red', lost: 'red' }

function placeText({ devices }: PlanStep): string {
  if (devices.length === 0) return 'cpu'
  return `gpu ${devices.map(({ index }) => index).join(',')}`
}

function memoryText({ devices, ram, source }: PlanStep): string {
  if (source === 'unknown') return '?'
  const bytes = devices.length === 0 ? ram : devices.reduce((sum, device) => sum + device.bytes, 0)
  return bytes === 0 ? '-' : formatBytes(bytes)
}

function noteText(step: PlanStep): string {
  const { kind, why, for_model: other, bytes_to_move: bytes, source } = step
  // A reason that this version does not know is shown as it came.
  if (kind === 'stop') return reasons[why as StopReason] ?? why ?? ''
  if (kind === 'evict') return `makes room for ${other ?? 'another'}`
  if (kind === 'lost') return 'gone with its node'
  const unknown = source === 'unknown' ? ['memory unknown'] : []
  const files = bytes === null ? ['size of files unknown'] : bytes > 0 ? [`moves ${formatBytes(bytes)}`] : []
  return [...files, ...unknown].join(', ')
}

const reasons: Readonly<Record<StopReason, string>> = {
  'no model': 'its model is gone',
  'old revision': 'the model has changed',
  surplus: 'above the maximum',
  selector: 'its node no longer matches',
  idle: 'idle for long',
  'nobody waits': 'no request waits for it',
}
