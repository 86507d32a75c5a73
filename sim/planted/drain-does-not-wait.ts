import type { PlantedBug } from './planted-bug.ts'

/**
 * LocalAI's drain deletes the rows of the node first. The worker then asks how many requests are in flight, is told none,
 * and kills its processes in the middle of their answers; the time that it should wait is configured and never used.
 */
export const drainDoesNotWait: PlantedBug = {
  name: 'drain-does-not-wait',
  what: 'a replica that is to stop is killed while it answers requests',
  caughtBy: 'draining',
  withinSeeds: 5,
  scene: { nodes: 3, models: 3, hours: 0.5, faults: ['end-worker', 'change-model'] },
  hooks: () => ({ workerLimits: (real) => ({ ...real, drainMs: 0 }) }),
}
