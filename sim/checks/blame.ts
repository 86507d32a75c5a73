import { OFFLINE_AFTER_MS } from '../limits.ts'
import type { Check } from './check.ts'

/**
 * "Lost contact with control: keep serving." A node that runs and is on the bus is not given up because nobody who
 * leads was there to hear it: its replicas would be strays, and all of them stopped, when control comes back.
 */
export function blameCheck(): Check {
  return {
    name: 'blame (what runs is adopted)',
    look({ ground, machines }) {
      const { nowMs } = ground.queue
      for (const step of ground.happened.applied.flatMap(({ steps }) => steps)) {
        if (step.kind !== 'forget' || step.why !== 'node offline') continue
        const { nodeId, id } = step.replica
        const worker = machines.find((machine) => machine.id === nodeId)?.worker
        const wasFine = worker?.isJoined && nowMs - ground.health.nodeSinceMs(nodeId) > OFFLINE_AFTER_MS
        if (wasFine) return `${nodeId} runs ${id} and was on the bus all the time, yet it is given up as offline`
      }
      return undefined
    },
  }
}
