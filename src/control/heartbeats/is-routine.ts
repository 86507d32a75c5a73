import { isDeepStrictEqual } from 'node:util'
import type { HeartbeatMessage, ReportedReplicaMessage } from '../../api/bus/messages.ts'
import { hasGrown, hasRoomierDevice } from '../../store/nouns/node-heartbeats.ts'

/**
 * Whether a heartbeat brings nothing urgent: the same processes in the same states, the same engines, no more room. How
 * busy a replica is and how much memory it takes is useful, but can wait.
 */
export function tellsNothingNew(before: HeartbeatMessage | undefined, now: HeartbeatMessage): boolean {
  if (!before || before.boot_id !== now.boot_id || before.replicas.length !== now.replicas.length) return false
  if (!now.replicas.every((replica, i) => isSameReport(before.replicas[i]!, replica))) return false
  if (hasGrown(before.available_ram, now.available_ram) || hasGrown(before.available_disk, now.available_disk)) {
    return false
  }
  if (before.devices !== now.devices && hasRoomierDevice(before.devices, now.devices)) return false
  return isDeepStrictEqual(before.engines, now.engines)
}

function isSameReport(a: ReportedReplicaMessage, b: ReportedReplicaMessage): boolean {
  const isSameProcess = a.id === b.id && a.generation === b.generation && a.state === b.state && a.error === b.error
  if (!isSameProcess || a.out_of_memory !== b.out_of_memory) return false
  return (
    isDeepStrictEqual(a.progress, b.progress) &&
    isDeepStrictEqual(a.exit, b.exit) &&
    isDeepStrictEqual(a.memory, b.memory)
  )
}
