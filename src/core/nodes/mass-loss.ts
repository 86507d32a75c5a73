import { holdsReplicas } from './availability.ts'
import type { Node } from '../types.ts'

/** Nodes that fall silent within this time of each other fell together. */
const TOGETHER_MS = 60_000
/** One lost node is a lost node, however small the cluster. */
const LEAST = 2

/** After a network is mended its nodes return one after the other: three heartbeats, as for their liveness. */
const RETURN_MS = 15_000

/**
 * The nodes of a mass disappearance: more than half of the approved backend nodes are gone and went within a minute of
 * each other. That is a broken network or bus far more often than that many broken machines, and replacing all their
 * replicas on the few that are left would break those too. Empty when there is none, or when an admin has accepted the loss
 * after they had gone.
 */
export function massLoss(nodes: readonly Node[], acceptedMs: number | null = null): Node[] {
  const members = membersOf(nodes)
  const gone = goneOf(members, acceptedMs).toSorted((a, b) => a.livenessSinceMs - b.livenessSinceMs)
  let most: Node[] = []
  for (const [i, first] of gone.entries()) {
    const together = gone.slice(i).filter((node) => node.livenessSinceMs - first.livenessSinceMs <= TOGETHER_MS)
    if (together.length > most.length) most = together
  }
  return most.length >= LEAST && most.length > members.length / 2 ? most : []
}

export interface Listening {
  nowMs: number
  /** Since when the leader has heard heartbeats without a break; undefined when that is long ago. */
  heardSinceMs?: number | undefined
  lossAcceptedMs?: number | null | undefined
}

/**
 * Nodes that may be about to return from a mass disappearance from which others have just returned. The first heartbeat
 * ends it; the others need a few more seconds, counted from when the leader began to listen. They are not given up yet.
 */
export function stragglers(nodes: readonly Node[], { nowMs, heardSinceMs = 0, lossAcceptedMs }: Listening): Node[] {
  const members = membersOf(nodes)
  const gone = goneOf(members, lossAcceptedMs ?? null)
  if (gone.length === 0) return []
  const returned = members.filter(
    ({ liveness, livenessSinceMs }) =>
      liveness !== 'offline' && Math.max(livenessSinceMs, heardSinceMs) + RETURN_MS > nowMs,
  )
  const lastMs = Math.max(...returned.map(({ livenessSinceMs }) => livenessSinceMs))
  const late = gone.filter(({ livenessSinceMs }) => livenessSinceMs < lastMs)
  return late.length + returned.length > members.length / 2 ? late : []
}

function membersOf(nodes: readonly Node[]): Node[] {
  return nodes.filter((node) => holdsReplicas(node) && !node.saidGoodbye)
}

function goneOf(members: readonly Node[], acceptedMs: number | null): Node[] {
  return members.filter(
    ({ liveness, isHeard, livenessSinceMs }) =>
      liveness === 'offline' && isHeard && livenessSinceMs > (acceptedMs ?? -Infinity),
  )
}
