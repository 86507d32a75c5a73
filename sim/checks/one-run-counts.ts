import type { Cluster } from '../cluster.ts'
import type { Machine } from '../machine/machine.ts'
import type { Check } from './check.ts'

/** To ask a frontend, which asks the data port of the other; and again at another frontend. */
const ASKED_MS = 20_000
/** A node is told that one of its runs does not count at most so often. */
const TOLD_MS = 5000
const MESSAGES_MS = 3000
const DRAIN_MS = 30_000
const KILL_MS = 10_000
const GOODBYE = /^\s*update nodes set boot_id = \$2, liveness = 'offline'/

/**
 * Of two machines with the key of one node only the one that the node's row names has engines, but for the time in which
 * the other learns that it lost its place and ends them. And a goodbye takes only the run offline that says it.
 */
export function oneRunCounts(cluster: Cluster): Check {
  const { queue, health, settings, copies } = cluster
  const { heartbeatPeriodMs, pace, checkMs } = settings
  const noticedMs = 2 * heartbeatPeriodMs + (pace.quietWaitMs ?? 0) + pace.turnPeriodMs + TOLD_MS + MESSAGES_MS
  const withinMs = noticedMs + checkMs + ASKED_MS + DRAIN_MS + KILL_MS
  const lostSinceMs = new Map<Machine, number>()
  return {
    name: 'one run (of a node)',
    onCommit({ nodes, statements }) {
      for (const { before, after } of nodes) {
        if (!before || !after || before.runId === null || before.bootId === after.bootId) continue
        const goodbye = statements.find(({ text, params }) => GOODBYE.test(text) && params[0] === after.id)
        if (!goodbye || goodbye.params[3] === before.runId) continue
        return `the goodbye of run ${goodbye.params[3]} takes ${after.name} offline, whose run is ${before.runId}`
      }
      return undefined
    },
    look() {
      for (const machine of [...copies.keys(), ...copies.values()]) {
        const { name, engines } = machine
        if (engines.size === 0 || !cluster.hasLostPlace(machine)) {
          lostSinceMs.delete(machine)
          continue
        }
        const sinceMs = lostSinceMs.get(machine) ?? queue.nowMs
        lostSinceMs.set(machine, sinceMs)
        const forMs = queue.nowMs - Math.max(sinceMs, health.controlCalmSinceMs(), health.calmSinceMs(name))
        if (forMs <= withinMs) continue
        const holder = cluster.machineOfNode(machine.nodeId!)?.name
        return `${name} runs ${engines.size} engines for ${Math.round(forMs / 1000)} s, and its node is ${holder} now, with the same key`
      }
      return undefined
    },
  }
}
