import type { LiveModel, Traffic } from '../../api/admin/live-schemas.ts'
import type { NodeView } from '../../api/admin/schemas.ts'
import { barText } from '../terminal/bar.ts'
import type { View } from '../client.ts'
import { counted, duration, shortGibOf } from '../terminal/format.ts'
import { statusLooks } from '../nodes/list.ts'
import type { Look } from '../terminal/style.ts'
import { table } from '../terminal/table.ts'
import { plain, truncate, widthOf } from '../terminal/text-width.ts'
import type { LivePicture } from './live-picture.ts'
import { sorted, type Sort, type Sortable } from './sort.ts'

export interface Frame {
  picture: LivePicture
  sort: Sort
  /** The lines of the screen; unlimited if there is no screen. */
  rows: number
  /** What is said at the bottom. */
  footer: string
}

/** One screen of `top`. Where there are too many, nodes and models share the lines. */
export function renderTop({ picture, sort, rows, footer }: Frame, view: View): string[] {
  const head = headLines(picture, view)
  const nodes = nodeLines(picture, sort, view)
  const models = modelLines(picture, sort, view)
  const problems = problemLine(picture, view)
  const bottom = [...problems, ...(footer === '' ? [] : ['', view.paint('dim', truncate(footer, view.width))])]
  const room = rows - head.length - bottom.length - 2
  const forNodes = Math.min(nodes.length, Math.max(3, Math.ceil(room / 2), room - models.length))
  const forModels = Math.max(2, room - forNodes)
  return [...head, '', ...upTo(nodes, forNodes, 'node'), '', ...upTo(models, forModels, 'model'), ...bottom]
}

function headLines({ nodes, models, replicas, traffic, at }: LivePicture, { paint, width }: View): string[] {
  const ready = [...replicas.values()].filter(({ state }) => state === 'ready').length
  const counts = `${counted(nodes.size, 'node')}, ${counted(models.size, 'model')}, ${ready} of ${counted(replicas.size, 'replica')} ready`
  const time = new Date(at).toLocaleTimeString('en-GB')
  const space = ' '.repeat(Math.max(1, width - widthOf(counts) - time.length))
  const cluster = traffic?.cluster
  return [`${paint('bold', counts)}${space}${time}`, cluster ? trafficText(cluster, width) : 'no requests yet']
}

function trafficText(
  { rate, error_rate: errors, latency_ms: latency, first_byte_ms: first, history }: Traffic,
  width: number,
) {
  const text = `${rate} requests/s, ${errors} failed/s, first token ${msText(first)}, whole ${msText(latency)}  `
  return text + spark(history.slice(-Math.max(0, width - widthOf(text))))
}

const BLOCKS = '▁▂▃▄▅▆▇█'

/** One character for each figure, the highest of them as high as a line. */
function spark(figures: readonly number[]): string {
  const most = Math.max(1, ...figures)
  return figures.map((figure) => BLOCKS[Math.ceil((figure / most) * (BLOCKS.length - 1))]).join('')
}

type NodeRow = Sortable & { node: NodeView }

function nodeLines({ nodes, replicas, traffic }: LivePicture, sort: Sort, view: View): string[] {
  if (nodes.size === 0) return [`There are no nodes yet: flotilla token${view.sameCluster} shows how a machine joins.`]
  const rateOn = new Map<string, number>()
  for (const [id, rate] of Object.entries(traffic?.replicas ?? {})) {
    const nodeId = replicas.get(id)?.node_id
    if (nodeId !== undefined) rateOn.set(nodeId, (rateOn.get(nodeId) ?? 0) + rate)
  }
  const rows = [...nodes.values()].map((node): NodeRow => {
    const memory =
      (node.total_vram ?? 0) - (node.available_vram ?? 0) || (node.total_ram ?? 0) - (node.available_ram ?? 0)
    return { node, name: node.name, rate: rateOn.get(node.id) ?? 0, busy: node.in_flight_count, memory }
  })
  return table(
    [
      { title: 'NODE', shrink: { to: 8, turn: 1 } },
      { title: 'STATUS' },
      { title: 'REPLICAS', align: 'right' },
      { title: 'BUSY', align: 'right' },
      { title: 'REQ/S', align: 'right' },
      { title: 'DEVICE', shrink: { to: 6, turn: 2 } },
      { title: 'MEMORY USED GIB' },
    ],
    sorted(rows, sort).flatMap(nodeCells),
    view,
  )
}

/** A row for the node, and one for each further device. */
function nodeCells({ node, rate }: NodeRow) {
  const devices = devicesOf(node)
  return devices.map(({ name, used, total }, i) => {
    const own =
      i === 0
        ? [
            plain(node.name),
            { text: node.status, look: statusLooks[node.status] },
            String(node.replica_count),
            String(node.in_flight_count),
            rateText(rate),
          ]
        : ['', '', '', '', '']
    return [...own, name, used === null ? '-' : `${barText(used, total, 12)} ${shortGibOf(used, total)}`]
  })
}

function devicesOf({ devices, total_ram: totalRam, available_ram: freeRam }: NodeView) {
  const used = (total: number, free: number | null): number | null => (free === null ? null : Math.max(0, total - free))
  const gpus = devices.map((gpu) => ({
    name: `gpu ${gpu.index}`,
    used: used(gpu.total_vram, gpu.available_vram),
    total: gpu.total_vram,
  }))
  const ram = { name: 'ram', used: totalRam === null ? null : used(totalRam, freeRam), total: totalRam ?? 0 }
  return [...gpus, ram]
}

type ModelRow = Sortable & { model: LiveModel; traffic: Traffic | undefined }

function modelLines({ models, replicas, traffic }: LivePicture, sort: Sort, view: View): string[] {
  if (models.size === 0) return [`There are no models yet: flotilla models add${view.sameCluster} adds one.`]
  const heldBy = new Map<string, number>()
  for (const { model_name: name, measured } of replicas.values()) {
    const bytes = (measured?.devices ?? []).reduce((sum, one) => sum + one.bytes, measured?.ram ?? 0)
    heldBy.set(name, (heldBy.get(name) ?? 0) + bytes)
  }
  const rows = [...models.values()].map((model): ModelRow => {
    const own = Object.hasOwn(traffic?.models ?? {}, model.name) ? traffic!.models[model.name] : undefined
    const { name, in_flight: busy } = model
    return { model, traffic: own, name, rate: own?.rate ?? 0, busy, memory: heldBy.get(name) ?? 0 }
  })
  return table(
    [
      { title: 'MODEL', shrink: { to: 10, turn: 1 } },
      { title: 'STATE' },
      { title: 'READY', align: 'right' },
      { title: 'BUSY', align: 'right' },
      { title: 'WAIT', align: 'right' },
      { title: 'REQ/S', align: 'right' },
      { title: 'FAIL/S', align: 'right' },
      { title: 'FIRST TOKEN', align: 'right' },
      { title: 'WHOLE', align: 'right' },
    ],
    sorted(rows, sort).map(({ model, traffic: own, rate }) => [
      plain(model.name),
      { text: model.state, look: stateLooks[model.state] ?? 'dim' },
      model.wanted === null ? String(model.ready_replicas) : `${model.ready_replicas}/${model.wanted}`,
      String(model.in_flight),
      String(model.waiting),
      rateText(rate),
      { text: rateText(own?.error_rate ?? 0), ...(own?.error_rate ? { look: 'red' as const } : {}) },
      msText(own?.first_byte_ms ?? null),
      msText(own?.latency_ms ?? null),
    ]),
    view,
  )
}

const stateLooks: Record<string, Look> = { ready: 'green', starting: 'yellow', failed: 'red' }

function problemLine({ problems }: LivePicture, { paint, width, sameCluster }: View): string[] {
  if (problems.length === 0) return []
  const text = `${counted(problems.length, 'problem')}: ${plain(problems[0]!.text)} (flotilla status${sameCluster})`
  return ['', paint('red', truncate(text, width))]
}

function upTo(lines: readonly string[], most: number, noun: string): readonly string[] {
  if (lines.length <= most) return lines
  return [...lines.slice(0, most - 1), `… ${counted(lines.length - most + 1, `more line`)} of ${noun}s`]
}

function rateText(rate: number): string {
  return rate === 0 ? '-' : rate < 10 ? rate.toFixed(1) : String(Math.round(rate))
}

function msText(ms: number | null): string {
  return ms === null ? '-' : duration(Math.round(ms))
}
