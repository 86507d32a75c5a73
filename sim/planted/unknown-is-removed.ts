import { AppError } from '../../src/platform/errors.ts'
import type { PlantedBug } from './planted-bug.ts'

/**
 * The first release took a frontend that had no row of a node for a cluster that had removed it: one that was started empty at
 * the old address ended every worker, and their engines with them.
 */
export const unknownIsRemoved: PlantedBug = {
  name: 'unknown-is-removed',
  what: 'a worker that a frontend does not know stops its engines and ends',
  caughtBy: 'removed',
  withinSeeds: 4,
  scene: { nodes: 3, models: 3, hours: 0.3, faults: ['empty-frontends', 'lose-bus'] },
  hooks: () => ({
    calls: (real) => ({
      ...real,
      credentials: (nodeId) =>
        real.credentials(nodeId).catch((error: unknown) => {
          if (!(error instanceof AppError) || error.code !== 'node_unknown') throw error
          throw new AppError('forbidden', error.message, { details: { node: 'removed' } })
        }),
    }),
  }),
}
