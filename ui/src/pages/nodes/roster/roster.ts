import type { NodeView, ReplicaView } from '../../../../../src/api/admin/schemas.ts'

/** Which nodes of the roster are shown, and in what order. */
export interface RosterView {
  search: string
  type: 'all' | NodeView['node_type']
  /** Empty: any. */
  status: NodeView['status'] | ''
  /** `key=value`, a key for any value of it, or empty. */
  label: string
  sort: SortKey
  isDescending: boolean
}

export const sortKeys = ['name', 'status', 'memory', 'replicas', 'in_flight', 'heartbeat'] as const
export type SortKey = (typeof sortKeys)[number]

/** The order when somebody chooses a key: who asks for the fullest, the busiest or the longest silent wants it on top. */
export function sortedBy(sort: SortKey): Pick<RosterView, 'sort' | 'isDescending'> {
  return { sort, isDescending: sort !== 'name' && sort !== 'status' }
}

export const statuses = [
  'pending',
  'offline',
  'unhealthy',
  'draining',
  'healthy',
] as const satisfies NodeView['status'][]

/** Reads it from the address of the page; whatever is no choice counts as none. */
export function readRosterView(query: URLSearchParams): RosterView {
  const one = <T extends string>(name: string, of: readonly T[]): T | undefined =>
    of.find((choice) => choice === query.get(name))
  return {
    search: query.get('search') ?? '',
    type: one('type', ['backend', 'agent'] as const) ?? 'all',
    status: one('status', statuses) ?? '',
    label: query.get('label') ?? '',
    sort: one('sort', sortKeys) ?? 'name',
    isDescending: query.get('order') === 'down',
  }
}

/** The other way round. What is as usual is left out, so that the plain address stays plain. */
export function writeRosterView({ search, type, status, label, sort, isDescending }: RosterView): URLSearchParams {
  const pairs = {
    search,
    type: type === 'all' ? '' : type,
    status,
    label,
    sort: sort === 'name' ? '' : sort,
    order: isDescending ? 'down' : '',
  }
  return new URLSearchParams(Object.entries(pairs).filter(([, value]) => value !== ''))
}

type ReplicasOn = ReadonlyMap<string, readonly Pick<ReplicaView, 'model_name'>[]>

/** The nodes that are asked for, in the order that is asked for; by name where that says nothing. */
export function rosterOf(nodes: readonly NodeView[], replicasOn: ReplicasOn, view: RosterView): readonly NodeView[] {
  const words = view.search.toLowerCase().split(/\s+/).filter(Boolean)
  const shown = nodes.filter(
    (node) =>
      (view.type === 'all' || node.node_type === view.type) &&
      (view.status === '' || node.status === view.status) &&
      (view.label === '' || hasLabel(node, view.label)) &&
      (words.length === 0 || says(node, replicasOn.get(node.id) ?? [], words)),
  )
  if (view.sort === 'name') return view.isDescending ? shown.toReversed() : shown
  const weigh = weigher(view.sort, nodes)
  const sign = view.isDescending ? -1 : 1
  return shown.toSorted((a, b) => sign * (weigh(a) - weigh(b)))
}

function hasLabel({ labels }: NodeView, wanted: string): boolean {
  return Object.entries(labels).some(([key, value]) => key === wanted || `${key}=${value}` === wanted)
}

/** Every word is somewhere in its name, address, labels or models. */
function says(node: NodeView, replicas: readonly Pick<ReplicaView, 'model_name'>[], words: readonly string[]): boolean {
  const labels = Object.entries(node.labels).map(([key, value]) => `${key}=${value}`)
  const text = [node.name, node.address, ...labels, ...replicas.map(({ model_name: name }) => name)]
    .join('\n')
    .toLowerCase()
  return words.every((word) => text.includes(word))
}

/** Nodes that were heard so shortly after one another count as equal: else rows would jump with every heartbeat. */
const SAME_HEARTBEAT_MS = 30_000
/** And so does memory in use, in shares of the whole. */
const SAME_SHARE = 0.05

function weigher(sort: Exclude<SortKey, 'name'>, nodes: readonly NodeView[]): (node: NodeView) => number {
  switch (sort) {
    case 'status':
      return ({ status }) => statuses.indexOf(status)
    case 'memory':
      return (node) => Math.round(usedShare(node) / SAME_SHARE)
    case 'replicas':
      return ({ replica_count: count }) => count
    case 'in_flight':
      return ({ in_flight_count: count }) => count
    case 'heartbeat': {
      const newest = Math.max(...nodes.map(({ last_heartbeat: at }) => at ?? 0))
      return ({ last_heartbeat: at }) => Math.floor((newest - (at ?? 0)) / SAME_HEARTBEAT_MS)
    }
  }
}

function usedShare(node: NodeView): number {
  const memory = memoryOf(node)
  if (!memory || memory.available === null || memory.total === 0) return 0
  return (memory.total - memory.available) / memory.total
}

export interface NodeMemory {
  /** What it is the memory of: `NVIDIA`, `2× AMD`, `RAM`. */
  label: string
  total: number
  available: number | null
  reserved: number
}

const VENDORS: Readonly<Record<string, string>> = { nvidia: 'NVIDIA', amd: 'AMD', intel: 'Intel', apple: 'Apple' }

/** The memory that counts on a node: that of its GPUs, else the machine's; undefined when it has told of none. */
export function memoryOf(node: NodeView): NodeMemory | undefined {
  if (node.total_vram > 0) {
    const vendor = VENDORS[node.gpu_vendor ?? ''] ?? node.gpu_vendor ?? 'GPU'
    const label = node.devices.length > 1 ? `${node.devices.length}× ${vendor}` : vendor
    return { label, total: node.total_vram, available: node.available_vram, reserved: node.reserved_vram }
  }
  if (!node.total_ram) return undefined
  return { label: 'RAM', total: node.total_ram, available: node.available_ram, reserved: node.reserved_ram }
}
