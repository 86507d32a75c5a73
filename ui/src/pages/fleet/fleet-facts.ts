import type { NodeView, ReplicaView } from '../../../../src/api/admin/schemas.ts'

/** Whether a node is meant: by its name or address, a label, or a model that it runs. Several words must all be met. */
export function matches(node: NodeView, replicas: readonly Pick<ReplicaView, 'model_name'>[], search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return true
  const texts = [
    node.name,
    node.address,
    node.status,
    ...Object.entries(node.labels).map(([key, value]) => `${key}=${value}`),
    ...replicas.map(({ model_name: name }) => name),
  ].map((text) => text.toLowerCase())
  return words.every((word) => texts.some((text) => text.includes(word)))
}

/** Requests a second that a node serves. */
export function rateOf(replicas: readonly Pick<ReplicaView, 'id'>[], rates: Readonly<Record<string, number>>): number {
  return replicas.reduce((sum, { id }) => sum + (rates[id] ?? 0), 0)
}

export interface Berths {
  modelName: string
  /** One for each slot, and for those that run above the cap; undefined is free. */
  berths: (ReplicaView | undefined)[]
}

/** By model: its slots on the node, and what lies in them. */
export function berthsOf(slots: number, replicas: readonly ReplicaView[]): Berths[] {
  return [...Map.groupBy(replicas, ({ model_name: name }) => name)].map(([modelName, mine]) => {
    const count = Math.max(slots, ...mine.map(({ replica_index: index }) => index + 1))
    const berths = Array.from({ length: Math.min(count, MOST_BERTHS) }, (_, i) =>
      mine.find(({ replica_index: index }) => index === i),
    )
    return { modelName, berths }
  })
}

/** So many are drawn of one model; a node may have a thousand slots. */
const MOST_BERTHS = 16

/** How far a replica is that is on its way, from 0 to 1; undefined while nobody knows. */
export function progressOf({ progress }: Pick<ReplicaView, 'progress'>): number | undefined {
  if (!progress?.total_bytes) return undefined
  return Math.min(1, progress.done_bytes / progress.total_bytes)
}
