import { statementsOf } from './statements-of.ts'
import type { PlantedBug } from './planted-bug.ts'

/**
 * LocalAI notes on the node how much memory is promised to models that are on their way, and every heartbeat of the node
 * sets that to zero, ten seconds later at most, while a load takes minutes. What is placed next gets the same memory.
 */
export const reservationErased: PlantedBug = {
  name: 'reservation-erased',
  what: 'a heartbeat forgets the memory that is held for replicas on their way',
  caughtBy: 'claims',
  withinSeeds: 8,
  scene: { nodes: 2, models: 6, hours: 0.2, faults: ['change-rule'] },
  hooks: () => ({
    beforeCommit(run, statements) {
      for (const { params } of statementsOf('heartbeat', statements)) {
        run(`update replicas set claim = null where node_id = $1 and state <> 'ready' and state <> 'failed'`, [
          params[0]!,
        ])
      }
    },
  }),
}
