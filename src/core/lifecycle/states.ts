import { replicaStates, type ReplicaState } from '../types.ts'

/**
 * The life of a replica, as the store sees it:
 *
 *   reserved ──▶ installing ──▶ staging ──▶ loading ──▶ ready ──▶ draining ──▶ stopping ──▶ (gone: the row is deleted)
 *      │             │             │           │          │          ▲            ▲
 *      └─────────────┴─────────────┴───────────┴──────────┴─▶ failed ─┴────────────┘ (or gone at once: no process)
 *
 * Phases may be passed over (an engine that is there, a model without files). Only `ready` is routable. Every state holds
 * the replica's slot. Each move is compare-and-set on (state, generation), and forward only: what a late heartbeat says of
 * an earlier phase changes nothing.
 */
export function mayMove(from: ReplicaState, to: ReplicaState): boolean {
  if (from === 'failed') return to === 'stopping'
  if (to === 'failed') return !isEnding(from)
  return replicaStates.indexOf(to) > replicaStates.indexOf(from)
}

/** Placed, and not ready yet. */
export function isOnTheWay(state: ReplicaState): boolean {
  return state === 'reserved' || state === 'installing' || state === 'staging' || state === 'loading'
}

/** It serves or will serve: it counts towards what a rule asks for, and does not end by itself. */
export function isStaying(state: ReplicaState): boolean {
  return state === 'ready' || isOnTheWay(state)
}

/** The replica is ending, by decision or by failure: it gets no new requests and counts for nothing. */
export function isEnding(state: ReplicaState): boolean {
  return state === 'draining' || state === 'stopping'
}

/** What a replica becomes when it is to end: one that serves is drained first. */
export function endingState(state: ReplicaState): 'draining' | 'stopping' {
  return state === 'ready' ? 'draining' : 'stopping'
}

/** A slot whose start failed is tried again after 1 s, 2 s, 4 s … up to a minute. */
export function retryDelayMs(failures: number): number {
  return Math.min(60_000, 1000 * 2 ** Math.min(failures - 1, 16))
}
