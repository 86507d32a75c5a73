import { useSyncExternalStore } from 'react'
import type { LiveModel } from '../../../src/api/admin/live-schemas.ts'
import type { NodeView, ReplicaView } from '../../../src/api/admin/schemas.ts'
import { liveConnection, type ConnectionState } from './connection.ts'
import type { World } from './world.ts'

/** A part of the world. It must be the same object as long as nothing of it changes. */
export function useWorld<T>(part: (world: World) => T): T {
  return useSyncExternalStore(liveConnection.subscribe, () => part(liveConnection.current().world))
}

export const useNodes = (): readonly NodeView[] => useWorld(({ nodes }) => nodes)
export const useModels = (): readonly LiveModel[] => useWorld(({ models }) => models)
export const useRules = (): World['rules'] => useWorld(({ rules }) => rules)
export const useReplicas = (): readonly ReplicaView[] => useWorld(({ replicas }) => replicas)
export const useProblems = (): World['problems'] => useWorld(({ problems }) => problems)
export const useTraffic = (): World['traffic'] => useWorld(({ traffic }) => traffic)
export const useNewestEvent = (): number => useWorld(({ newestEvent }) => newestEvent)

const NONE: readonly ReplicaView[] = []
export const useReplicasOn = (nodeId: string): readonly ReplicaView[] =>
  useWorld(({ replicasOn }) => replicasOn.get(nodeId) ?? NONE)

export const useNode = (id: string): NodeView | undefined =>
  useWorld(({ nodes }) => nodes.find((node) => node.id === id))
export const useModel = (name: string): LiveModel | undefined =>
  useWorld(({ models }) => models.find((model) => model.name === name))

export function useConnectionState(): ConnectionState {
  return useSyncExternalStore(liveConnection.subscribe, () => liveConnection.current().state)
}
