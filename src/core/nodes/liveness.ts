import type { Node } from '../types.ts'

/** How long a node may be silent. */
export interface LivenessLimits {
  /** From then on it gets nothing new, and the leader asks it whether it still answers requests. */
  unreachableAfterMs: number
  /** From then on its replicas are given up and placed elsewhere. */
  offlineAfterMs: number
}

/** Missed heartbeats until a node counts as unreachable. */
const MISSED_HEARTBEATS = 3

export function livenessLimits(heartbeatPeriodMs: number, offlineAfterMs: number): LivenessLimits {
  return { unreachableAfterMs: Math.min(MISSED_HEARTBEATS * heartbeatPeriodMs, offlineAfterMs), offlineAfterMs }
}

export type Silent = Pick<Node, 'id' | 'name' | 'liveness'> & { lastHeartbeatMs: number | null }

export interface LivenessNow {
  /** By the store's clock, the only one that all frontends share. */
  nowMs: number
  /** Before then no leader listened, so missing heartbeats do not count. */
  hearingSinceMs: number
  /** Nodes whose replicas still answer requests: they are never given up. */
  answering: readonly string[]
}

export type Judged = Pick<Node, 'id' | 'name'> & { liveness: 'unreachable' | 'offline' }

/** The nodes whose liveness drops. Only a heartbeat raises it again. */
export function judgeLiveness(nodes: readonly Silent[], limits: LivenessLimits, now: LivenessNow): Judged[] {
  return nodes.flatMap((node) => {
    const liveness = judgeOne(node, limits, now)
    return liveness === undefined ? [] : [{ id: node.id, name: node.name, liveness }]
  })
}

/** Undefined when nothing changes for the worse. */
function judgeOne(node: Silent, limits: LivenessLimits, now: LivenessNow): Judged['liveness'] | undefined {
  const silentMs = now.nowMs - Math.max(node.lastHeartbeatMs ?? 0, now.hearingSinceMs)
  if (silentMs > limits.offlineAfterMs && !now.answering.includes(node.id)) {
    return node.liveness === 'offline' ? undefined : 'offline'
  }
  return silentMs > limits.unreachableAfterMs && node.liveness === 'online' ? 'unreachable' : undefined
}
