import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'

/**
 * "Lost contact with control: keep serving." A node that runs and is on the bus is not given up because nobody who leads
 * was there to hear it: its replicas would be strays, and all of them stopped, when control comes back.
 */
export function whatRunsIsAdopted(cluster: Cluster): Check {
  const { queue, health, settings } = cluster
  const fineMs = settings.liveness.offlineAfterMs + settings.heartbeatPeriodMs
  return {
    name: 'blame (what runs is adopted)',
    onPlan({ plan }) {
      for (const step of plan.steps) {
        if (step.kind !== 'forget' || step.why !== 'node offline') continue
        const { nodeId, id } = step.replica
        const machine = cluster.machineOfNode(nodeId)
        const isFine = machine?.worker?.isJoined && queue.nowMs - health.calmSinceMs(machine.name) > fineMs
        // Only a mistake when the bus was there as well; a leader that comes back listens before it judges.
        if (isFine && queue.nowMs - health.calmSinceMs('bus', 'f1', 'f2', 'store') > fineMs) {
          return `${machine.name} runs ${id} and was on the bus all the time, yet it is given up as offline`
        }
      }
      return undefined
    },
  }
}
