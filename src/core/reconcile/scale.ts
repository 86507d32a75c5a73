import type { ModelLoad, Replica, Rule } from '../types.ts'

/** Of its replicas that were in use, on average over the last seconds: not quite all, since requests come with gaps. */
const BUSY_SHARE = 0.9
/** Without a request for so long, a replica above what is to be kept goes. */
const IDLE_MS = 5 * 60_000

/**
 * Whether a model should have one replica more: all of them have been in use for a while, or requests wait for a turn, its
 * rule allows it, and none is on its way already. One at a time: the next is judged by what this one has changed.
 */
export function needsOneMore(rule: Rule, keep: readonly Replica[], load: ModelLoad | undefined): boolean {
  if (!load || rule.spreadAll || keep.length === 0) return false
  if (rule.maxReplicas > 0 && keep.length >= rule.maxReplicas) return false
  if (keep.some(({ state }) => state !== 'ready')) return false
  return isHot(load)
}

/** Requests wait, or all of its replicas have been in use for a while. */
export function isHot({ waiting, busy }: ModelLoad): boolean {
  return waiting > 0 || busy >= BUSY_SHARE
}

/**
 * Replicas that have had nothing to do for so long that they go, the highest index first. The last one stays, unless the
 * rule says after how long it may go as well.
 */
export function idleBeyondNeed(rule: Rule, keep: readonly Replica[], nowMs: number): Replica[] {
  if (rule.spreadAll) return []
  const ready = keep.filter(({ state }) => state === 'ready').toSorted((a, b) => b.replicaIndex - a.replicaIndex)
  const isIdleFor = (ms: number) => (replica: Replica) => replica.inFlight === 0 && nowMs - lastBusyMs(replica) >= ms
  const { minReplicas, scaleToZeroAfterMs } = rule
  if (minReplicas === 0 && scaleToZeroAfterMs !== null && ready.every(isIdleFor(scaleToZeroAfterMs))) return ready
  const surplus = Math.max(0, ready.length - Math.max(minReplicas, 1))
  return ready.filter(isIdleFor(IDLE_MS)).slice(0, surplus)
}

/** Before then, none of them goes for being idle, unless one of their rows changes. */
export function idleDueMs({ spreadAll, minReplicas, scaleToZeroAfterMs }: Rule, keep: readonly Replica[]): number {
  const mayAllGo = minReplicas === 0 && scaleToZeroAfterMs !== null
  if (spreadAll || (!mayAllGo && keep.length <= Math.max(minReplicas, 1))) return Infinity
  const idleMs = mayAllGo ? Math.min(scaleToZeroAfterMs, IDLE_MS) : IDLE_MS
  const idle = keep.filter(({ state, inFlight }) => state === 'ready' && inFlight === 0)
  return idle.reduce((least, replica) => Math.min(least, lastBusyMs(replica) + idleMs), Infinity)
}

/** One that never had a request has been idle since it was there. */
function lastBusyMs({ lastUsedMs, readySinceMs }: Replica): number {
  return Math.max(lastUsedMs ?? 0, readySinceMs ?? 0)
}
