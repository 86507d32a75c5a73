import { statementsOf } from './statements-of.ts'
import type { PlantedBug } from './planted-bug.ts'

/**
 * In LocalAI a node that waits for approval and falls silent becomes offline, and an offline node that registers or is
 * heard again becomes healthy: who was never approved is, by being restarted.
 */
export const approvalByRestart: PlantedBug = {
  name: 'approval-by-restart',
  what: 'a node that nobody has approved is approved when it registers again',
  caughtBy: 'pending',
  withinSeeds: 7,
  scene: { nodes: 3, models: 1, hours: 0.2, faults: ['delete-node', 'restart-machine', 'kill-worker'] },
  hooks: () => ({
    beforeCommit(run, statements) {
      for (const { params } of statementsOf('registration', statements)) {
        run('update nodes set approved_at = now_ms() where id = $1 and approved_at is null', [params[0]!])
      }
    },
  }),
}
