import type { PlantedBug } from './planted-bug.ts'
import { statementsOf } from './statements-of.ts'

/**
 * A cluster that does not note which run of a worker a node has: a second process with the same key is taken in beside the
 * first, and each starts what the node is told to start.
 */
export const secondRunTakenIn: PlantedBug = {
  name: 'second-run-taken-in',
  what: 'a second machine with the key of a node is taken in beside the first',
  caughtBy: 'one run',
  withinSeeds: 5,
  scene: { nodes: 2, models: 3, hours: 0.3, faults: ['copy-machine'] },
  hooks: () => ({
    beforeCommit(run, statements) {
      for (const what of ['registration', 'heartbeat'] as const) {
        for (const { params } of statementsOf(what, statements)) {
          run('update nodes set run_id = null where id = $1', [params[0]!])
        }
      }
    },
  }),
}
