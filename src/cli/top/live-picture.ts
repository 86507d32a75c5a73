import { liveMessage, type LiveMessage, type LiveModel, type LiveTraffic } from '../../api/admin/live-schemas.ts'
import type { NodeView, ReplicaView } from '../../api/admin/schemas.ts'
import type { Problem } from '../../api/admin/cluster-schemas.ts'
import { AppError } from '../../platform/errors.ts'

/** The cluster as the last message left it. */
export class LivePicture {
  at = 0
  nodes = new Map<string, NodeView>()
  replicas = new Map<string, ReplicaView>()
  models = new Map<string, LiveModel>()
  problems: readonly Problem[] = []
  traffic: LiveTraffic | undefined

  /** Takes in what the frontend says; the first of a connection begins anew. */
  take(data: unknown): void {
    const parsed = liveMessage.safeParse(data)
    if (!parsed.success) {
      const text = 'The frontend tells of the cluster in a way that is not understood: its version may differ.'
      throw new AppError('bad_gateway', text)
    }
    const message = parsed.data
    this.at = message.at
    this.nodes = changed(message.is_snapshot ? new Map() : this.nodes, message.nodes, ({ id }) => id)
    this.replicas = changed(message.is_snapshot ? new Map() : this.replicas, message.replicas, ({ id }) => id)
    this.models = changed(message.is_snapshot ? new Map() : this.models, message.models, ({ name }) => name)
    this.problems = message.problems ?? this.problems
    this.traffic = message.traffic ?? this.traffic
  }
}

function changed<T extends object>(
  before: Map<string, T>,
  { set, patch, gone }: LiveMessage['nodes'] | LiveMessage['replicas'] | LiveMessage['models'],
  keyOf: (item: T) => string,
): Map<string, T> {
  for (const item of set as unknown as T[]) before.set(keyOf(item), item)
  for (const [key, fields] of Object.entries(patch)) {
    const item = before.get(key)
    if (item) before.set(key, { ...item, ...fields })
  }
  for (const key of gone) before.delete(key)
  return before
}
