import { statementsOf } from './statements-of.ts'
import type { PlantedBug } from './planted-bug.ts'

/**
 * LocalAI takes every registration for a restart of the machine and deletes all replicas of the node. A worker also
 * registers to renew its credentials, about once a day, or when it alone was restarted: what serves is forgotten, its
 * memory stays taken, and the same models are loaded again elsewhere.
 */
export const reregistrationWipes: PlantedBug = {
  name: 'reregistration-wipes',
  what: 'a worker that registers again loses its replicas, though they run',
  caughtBy: 'kept',
  withinSeeds: 4,
  scene: { nodes: 3, models: 3, hours: 0.2, faults: ['kill-worker'] },
  hooks: () => ({
    beforeCommit(run, statements) {
      for (const { params } of statementsOf('registration', statements)) {
        run('delete from replicas where node_id = $1', [params[0]!])
      }
    },
  }),
}
