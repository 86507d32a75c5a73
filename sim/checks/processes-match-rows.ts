import { isEnding } from '../../src/core/lifecycle/states.ts'
import type { ReplicaState } from '../../src/core/types.ts'
import type { Cluster } from '../cluster.ts'
import type { Machine } from '../machine/machine.ts'
import type { Check } from './check.ts'

const MESSAGES_MS = 3000
const COMMAND_TIMEOUT_MS = 5000
const DRAIN_MS = 30_000
const KILL_MS = 10_000
/** A node that was removed and did not hear of it asks for its credentials so often, and takes a minute over it at most. */
const ASKED_WITHIN_MS = 60_000

interface Odd {
  what: string
  machine: Machine | undefined
  sinceMs: number
  withinMs: number
}

/**
 * Invariant 4: no process without a row that wants it, no row that says ready without a process, and no row that holds its
 * slot by stopping for ever, for longer than it takes to notice and to stop; counted from when the way between the node and
 * a leader has been undisturbed.
 */
export function processesMatchRows(cluster: Cluster): Check {
  const { store, queue, health, settings } = cluster
  const { heartbeatPeriodMs, pace, liveness, refreshMs } = settings
  const noticedMs = heartbeatPeriodMs + (pace.quietWaitMs ?? 0) + pace.turnPeriodMs + MESSAGES_MS
  const stoppedMs = noticedMs + COMMAND_TIMEOUT_MS + pace.turnPeriodMs + DRAIN_MS + KILL_MS
  const silentMs = liveness.offlineAfterMs + 2 * pace.turnPeriodMs + MESSAGES_MS
  let odd = new Map<string, Odd>()

  const find = (): Map<string, Odd> => {
    const { mirror } = store
    const now = new Map<string, Odd>()
    const note = (key: string, what: string, machine: Machine | undefined, withinMs: number): void => {
      now.set(key, { what, machine, sinceMs: odd.get(key)?.sinceMs ?? queue.nowMs, withinMs })
    }
    const running = new Set<string>()
    const byNode = new Map<string, Machine>()
    for (const machine of cluster.everyMachine()) {
      const { nodeId, engines, worker } = machine
      const isMember = nodeId !== undefined && mirror.nodes.get(nodeId)?.approved === true
      // What is left on one of two machines with one key is another check's.
      if (cluster.hasLostPlace(machine)) continue
      if (nodeId !== undefined) byNode.set(nodeId, machine)
      for (const { spec } of engines.values()) {
        running.add(spec.id)
        const row = mirror.replicas.get(spec.id)
        if (row?.generation === spec.generation && !isEnding(row.state as ReplicaState)) continue
        const what = `a process of ${spec.id} (${spec.model_name}#${spec.replica_index}) that no row wants`
        const withinMs = isMember || worker?.departure ? stoppedMs : stoppedMs + refreshMs + ASKED_WITHIN_MS
        note(`process ${spec.id} ${isMember}`, what, machine, withinMs)
      }
    }
    const frozen = massLoss()
    for (const { id, nodeId, state, modelName, index } of mirror.replicas.values()) {
      if (running.has(id) || frozen || (state !== 'ready' && !isEnding(state as ReplicaState))) continue
      const machine = byNode.get(nodeId)
      const isJoined = machine?.worker?.isJoined ?? false
      const what = `${id} (${modelName}#${index}) is ${state} without a process`
      const seenMs = state === 'ready' ? noticedMs : stoppedMs
      note(`row ${id} ${state} ${isJoined}`, what, machine, isJoined ? seenMs : silentMs)
    }
    return now
  }

  /** When most nodes vanish together their rows are kept on purpose, until it is over. */
  const massLoss = (): boolean => {
    const nodes = [...store.mirror.nodes.values()].filter(({ approved }) => approved)
    return nodes.filter(({ liveness: one }) => one === 'offline').length * 2 >= nodes.length
  }

  return {
    name: 'processes (invariant 4)',
    look() {
      odd = find()
      for (const { what, machine, sinceMs, withinMs } of odd.values()) {
        const calmMs = Math.max(health.controlCalmSinceMs(), machine ? health.calmSinceMs(machine.name) : 0)
        const forMs = queue.nowMs - Math.max(sinceMs, calmMs)
        if (forMs > withinMs) return `${what} on ${machine?.name ?? 'no machine'}, for ${Math.round(forMs / 1000)} s`
      }
      return undefined
    },
  }
}
