import { replicaKey } from '../../src/core/lib/replica-key.ts'
import type { PlantedBug } from './planted-bug.ts'

/**
 * LocalAI names what is to be stopped by model and slot, and a slot is free again as soon as its last replica is to go. A
 * stop that is late or comes twice finds the replacement there, and ends it.
 */
export const staleCommand: PlantedBug = {
  name: 'stale-command',
  what: 'a late stop ends whatever is in the slot by then',
  caughtBy: 'siblings',
  withinSeeds: 14,
  scene: { nodes: 3, models: 3, hours: 0.5, faults: ['storm-on-bus', 'change-model', 'change-rule'] },
  hooks: () => ({
    supervisor(real) {
      const keys = new Map<string, string>()
      const [start, stop] = [real.start.bind(real), real.stop.bind(real)]
      real.start = (spec) => {
        keys.set(spec.id, replicaKey(spec.model_name, spec.replica_index))
        start(spec)
      }
      real.stop = (message) => {
        const key = message.target.what === 'replica' ? keys.get(message.target.id) : undefined
        return stop(key === undefined ? message : { ...message, target: { what: 'key', key, not_after: Infinity } })
      }
      return real
    },
  }),
}
