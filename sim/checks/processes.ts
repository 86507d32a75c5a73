import { isEnding } from '../../src/core/lifecycle/states.ts'
import { massLoss } from '../../src/core/nodes/mass-loss.ts'
import type { Cluster } from '../cluster.ts'
import {
  COMMAND_TIMEOUT_MS,
  DRAIN_MS,
  HEARTBEAT_PERIOD_MS,
  KILL_AFTER_MS,
  OFFLINE_AFTER_MS,
  TURN_PERIOD_MS,
} from '../limits.ts'
import { versionOf, type Check } from './check.ts'

const MESSAGES_MS = 1000
/** Noticed by the next heartbeat, asked once more if the first command was lost, drained, killed. */
const STOPPED_WITHIN_MS = HEARTBEAT_PERIOD_MS + COMMAND_TIMEOUT_MS + TURN_PERIOD_MS + DRAIN_MS + KILL_AFTER_MS
const NOTICED_WITHIN_MS = HEARTBEAT_PERIOD_MS + MESSAGES_MS
/** A node that is gone is noticed by its silence. */
const SILENCE_NOTICED_MS = OFFLINE_AFTER_MS + 2 * TURN_PERIOD_MS

interface Odd {
  what: string
  nodeId: string
  sinceMs: number
  withinMs: number
}

/**
 * Invariant 4: no process without a row that wants it, no row that says ready without a process, and no row that holds
 * its slot by stopping for ever, for longer than it takes to notice and to stop; counted from when the way between the
 * node and a leader has been undisturbed.
 */
export function processesCheck(): Check {
  let odd = new Map<string, Odd>()
  let seen = -1
  let nextMs = 0
  return {
    name: 'processes (invariant 4)',
    look(cluster) {
      const { nowMs } = cluster.ground.queue
      const version = versionOf(cluster)
      if (version === seen && nowMs < nextMs) return undefined
      if (version !== seen) odd = keepSince(findOdd(cluster, nowMs), odd)
      seen = version
      nextMs = Infinity
      for (const { what, nodeId, sinceMs, withinMs } of odd.values()) {
        const endMs = Math.max(sinceMs, cluster.ground.health.sinceMs(nodeId)) + withinMs
        if (nowMs > endMs) return `${what} on ${nodeId}, for ${Math.round((nowMs - sinceMs) / 1000)} s`
        nextMs = Math.min(nextMs, endMs + 1)
      }
      return undefined
    },
  }
}

function findOdd({ ground, machines }: Cluster, nowMs: number): Map<string, Odd> {
  const odd = new Map<string, Odd>()
  const running = new Set<string>()
  const joined = new Set<string>()
  const { replicas } = ground.store
  for (const { id: nodeId, worker, engines } of machines) {
    if (worker?.isJoined) joined.add(nodeId)
    for (const { spec } of engines) {
      running.add(spec.id)
      const row = replicas.get(spec.id)
      if (row?.generation === spec.generation && !isEnding(row.state)) continue
      const what = `a process of ${spec.id} (${spec.model_name}#${spec.replica_index}) that no row wants`
      odd.set(`process ${spec.id}`, { what, nodeId, sinceMs: nowMs, withinMs: STOPPED_WITHIN_MS })
    }
  }
  // When most nodes vanish together their rows are kept on purpose, until it is over.
  const frozen = new Set(massLoss([...ground.store.nodes.list()]).map(({ id }) => id))
  for (const { id, nodeId, state, modelName, replicaIndex } of replicas.values()) {
    if (frozen.has(nodeId)) continue
    if (running.has(id) || (state !== 'ready' && !isEnding(state))) continue
    const what = `${id} (${modelName}#${replicaIndex}) is ${state} without a process`
    const noticedMs = state === 'ready' ? NOTICED_WITHIN_MS : STOPPED_WITHIN_MS
    const isJoined = joined.has(nodeId)
    const withinMs = isJoined ? noticedMs : SILENCE_NOTICED_MS
    // A node that dies while its row is odd is noticed by its silence: the time starts again.
    odd.set(`row ${id} ${state} ${isJoined}`, { what, nodeId, sinceMs: nowMs, withinMs })
  }
  return odd
}

function keepSince(now: Map<string, Odd>, before: Map<string, Odd>): Map<string, Odd> {
  for (const [key, thing] of now) thing.sinceMs = before.get(key)?.sinceMs ?? thing.sinceMs
  return now
}
