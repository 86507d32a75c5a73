import type { DeviceBytes, Freed, Replica } from '../types.ts'

/** With the time, by the store's clock, until which a reading of the memory is waited for. */
export interface AwaitedFreed extends Freed {
  untilMs: number
}

/** Longer than a slow tool needs for two readings: one that had begun before the end, and the one after it. */
export const MOST_WAIT_MS = 30_000
/** A worker of the release before does not say what its reading includes. It reads within about this time after each end. */
export const ASSUMED_READ_MS = 5000
/** More at once on one node are not remembered: the oldest are forgotten first. */
const MOST_FREED = 256

export interface EndsAndReading {
  /** Replicas without a process since this heartbeat: gone, or failed. */
  ended: readonly Replica[]
  /** Ids of ended replicas whose memory the heartbeat's reading may count as taken; undefined when the worker never says. */
  unread: readonly string[] | undefined
  nowMs: number
}

/**
 * The memory that ended replicas of a node held and that its last reading may still count as taken. Without it, a pass
 * between the end of a replica and the next reading would see neither the replica nor its room, and stop another one.
 * Returns the same list when nothing has changed.
 */
export function freedAfter(
  before: readonly AwaitedFreed[],
  { ended, unread, nowMs }: EndsAndReading,
): readonly AwaitedFreed[] {
  const left = before.filter(({ replicaId, untilMs }) => untilMs > nowMs && (unread?.includes(replicaId) ?? true))
  const known = new Set(left.map(({ replicaId }) => replicaId))
  const untilMs = nowMs + (unread ? MOST_WAIT_MS : ASSUMED_READ_MS)
  const more = ended
    .filter((replica) => !known.has(replica.id) && (unread?.includes(replica.id) ?? hadProcess(replica)))
    .map((replica): AwaitedFreed => ({ replicaId: replica.id, ...lastHeld(replica), untilMs }))
    .filter(({ devices, ram }) => devices.length > 0 || ram > 0)
  if (more.length === 0 && left.length === before.length) return before
  return [...left, ...more].slice(-MOST_FREED)
}

function hadProcess({ state }: Replica): boolean {
  return state === 'loading' || state === 'ready' || state === 'draining' || state === 'stopping'
}

/** What it was seen to hold; one that was still loading may have come as far as its claim. */
function lastHeld({ claim, measured, readySinceMs }: Replica): Omit<Freed, 'replicaId'> {
  const hasLoaded = readySinceMs !== null
  const seen = measured?.devices ?? []
  const claimed = claim?.devices ?? []
  const indexes = new Set([...seen, ...claimed].map(({ index }) => index))
  const devices = [...indexes].map((index) => {
    const seenBytes = bytesOf(seen, index)
    const claimedBytes = bytesOf(claimed, index) ?? 0
    const bytes = hasLoaded ? (seenBytes ?? claimedBytes) : Math.max(seenBytes ?? 0, claimedBytes)
    return { index, bytes }
  })
  const claimedRam = claim?.ram ?? 0
  const ram = hasLoaded ? (measured?.ram ?? claimedRam) : Math.max(measured?.ram ?? 0, claimedRam)
  return { devices: devices.filter(({ bytes }) => bytes > 0), ram }
}

function bytesOf(devices: readonly DeviceBytes[], index: number): number | undefined {
  return devices.find((device) => device.index === index)?.bytes
}
