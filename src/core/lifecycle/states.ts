import type { ReplicaState } from '../types.ts'

/**
 * The life of a replica, as the store sees it:
 *
 *   reserved ──▶ loading ──▶ ready ──▶ stopping ──▶ (gone: the row is deleted)
 *      │            │          │           ▲
 *      └────────────┴──────────┴─▶ failed ─┘ (or gone at once: a failed replica has no process)
 *
 * Only `ready` is routable. Every state holds the replica's slot. Each move is compare-and-set on (state, generation).
 */
const moves: Record<ReplicaState, readonly ReplicaState[]> = {
  reserved: ['loading', 'ready', 'failed', 'stopping'],
  loading: ['ready', 'failed', 'stopping'],
  ready: ['failed', 'stopping'],
  stopping: [],
  failed: ['stopping'],
}

export function mayMove(from: ReplicaState, to: ReplicaState): boolean {
  return moves[from].includes(to)
}

/** A slot whose start failed is tried again after 1 s, 2 s, 4 s … up to a minute. */
export function retryDelayMs(failures: number): number {
  return Math.min(60_000, 1000 * 2 ** Math.min(failures - 1, 16))
}
