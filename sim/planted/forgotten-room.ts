import type { World } from '../../src/core/types.ts'
import type { PlantedBug } from './planted-bug.ts'

/**
 * What release 0.1 did itself: between the end of a victim and the next reading of the memory neither the victim nor its
 * room was seen, and another was stopped in its place; with a slow `nvidia-smi` all of them.
 */
export const forgottenRoom: PlantedBug = {
  name: 'forgotten-room',
  what: 'what a stopped replica held is forgotten before the memory was read again, and another one is stopped',
  caughtBy: 'room',
  withinSeeds: 20,
  scene: { nodes: 3, models: 10, hours: 0.5, faults: ['change-rule'] },
  hooks: () => ({
    decide: (real) => ({ ...real, reconcile: (world, ...rest) => real.reconcile(forgetful(world), ...rest) }),
  }),
}

function forgetful(world: World): World {
  return { ...world, nodes: world.nodes.map((node) => (node.freed.length > 0 ? { ...node, freed: [] } : node)) }
}
