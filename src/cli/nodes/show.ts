import type { NodeView, ReplicaView } from '../../api/admin/schemas.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import type { View } from '../client.ts'
import { facts, type Fact } from '../facts.ts'
import { gib, gibOf, span } from '../terminal/format.ts'
import { claimText, measuredText } from '../text/memory-text.ts'
import { replicaText, withErrors } from '../text/replica-text.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'
import { aboveCapText, budgetText, slotsText } from './capacity.ts'
import { renderLabels } from './labels.ts'
import { statusLooks } from './list.ts'

/** Everything about one node, in sections. */
export function renderNode(node: NodeView, replicas: readonly ReplicaView[], view: View): string[] {
  const { paint } = view
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', paint('bold', title), ...lines]
  return [
    `${paint('bold', plain(node.name))}  ${paint(statusLooks[node.status], node.status)}`,
    ...section('Identity', facts(identity(node, view), view)),
    ...section('State', facts(state(node, view), view)),
    ...section('Capacity', facts(capacity(node), view)),
    ...section('Devices', devices(node, view)),
    ...section('Labels', renderLabels(node, view, INDENT)),
    ...section('Replicas', replicaTable(replicas, view)),
  ]
}

const INDENT = 2

function identity(node: NodeView, { nowMs }: View): Fact[] {
  return [
    ['Id', node.id],
    ['Key', node.public_key],
    ['Type', node.node_type],
    ['Version', node.version],
    ['Address', node.address],
    ['Joined', `${span(nowMs - node.registered_at)} ago`],
  ]
}

function state(node: NodeView, { nowMs }: View): Fact[] {
  const { last_heartbeat: last } = node
  const heartbeat = last === null ? 'no heartbeat yet' : `last heartbeat ${span(nowMs - last)} ago`
  return [
    ['Approved', node.approved ? 'yes' : 'no'],
    ['Desired', node.desired],
    ['Liveness', `${node.liveness} for ${span(nowMs - node.liveness_since)}, ${heartbeat}`],
    ['In flight', String(node.in_flight_count)],
  ]
}

function capacity(node: NodeView): Fact[] {
  const free = (part: number | null, whole: number | null, reserved = 0): string =>
    `${gibOf(part, whole)}${part === null || whole === null ? '' : ' free'}` +
    (reserved > 0 ? `, ${gib(reserved)} reserved` : '')
  const runs: Fact[] =
    node.node_type === 'agent'
      ? []
      : [
          ['Slots', slotsText(node).join(', '), ...aboveCapText(node)],
          ['Budget', budgetText(node).join(', ')],
        ]
  return [
    ...runs,
    [
      'VRAM',
      node.total_vram === 0
        ? 'none'
        : `${free(node.available_vram, node.total_vram, node.reserved_vram)}${budgetLeft(node)}`,
    ],
    ['RAM', free(node.available_ram, node.total_ram, node.reserved_ram)],
    ['Disk', free(node.available_disk, node.total_disk)],
  ]
}

/** The card may have more free than replicas may take. */
function budgetLeft({ vram_budget_bytes: budget, vram_budget_left: left }: NodeView): string {
  // A frontend of the release before does not say.
  return budget === null || typeof left !== 'number' ? '' : `, the budget of ${gib(budget)} leaves ${gib(left)}`
}

function devices({ devices: all, reserved_vram_by_device: reserved }: NodeView, view: View): string[] {
  if (all.length === 0) return []
  return table(
    [
      { title: '#', align: 'right' },
      { title: 'NAME', shrink: { to: 12, turn: 2 } },
      { title: 'USED', align: 'right' },
      { title: 'RESERVED', align: 'right', optional: true },
      { title: 'FREE', align: 'right' },
      { title: 'TOTAL', align: 'right' },
      { title: 'UUID', shrink: { to: 8, turn: 1 } },
    ],
    all.map((device, i) => [
      String(device.index),
      plain(device.name),
      device.available_vram === null ? '?' : gib(device.total_vram - device.available_vram),
      reserved[i] ? gib(reserved[i]) : '-',
      device.available_vram === null ? '?' : gib(device.available_vram),
      `${gib(device.total_vram)}${device.unified ? ' (shared)' : ''}`,
      plain(device.uuid),
    ]),
    { ...view, indent: INDENT },
  )
}

function replicaTable(replicas: readonly ReplicaView[], view: View): string[] {
  if (replicas.length === 0) return []
  const lines = table(
    [
      { title: 'REPLICA', shrink: { to: 12, turn: 2 } },
      { title: 'STATE', shrink: { to: 16, turn: 1 } },
      { title: 'IN FLIGHT', align: 'right' },
      { title: 'CLAIM', align: 'right', optional: true },
      { title: 'MEASURED', align: 'right', optional: true, spare: 2 },
      { title: 'UNUSED', optional: true, spare: 1 },
    ],
    replicas.map((replica) => [
      plain(replicaKey(replica.model_name, replica.replica_index)),
      replicaText({ ...replica, error: null }),
      String(replica.in_flight),
      claimText(replica),
      measuredText(replica),
      unusedText(replica, view),
    ]),
    { ...view, indent: INDENT },
  )
  return withErrors(lines, replicas, view)
}

/** How long it has had no request; since it was ready, if it never had one. */
function unusedText({ in_flight: running, last_used_at: used, ready_at: ready }: ReplicaView, { nowMs }: View): string {
  const since = used ?? ready
  return running > 0 || since === null ? '-' : span(nowMs - since)
}
