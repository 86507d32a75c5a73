import type { ClusterView } from '../../../../api/admin/cluster-schemas.ts'
import { AppError, toAppError } from '../../../../platform/errors.ts'
import { RepeatedLines } from '../../../../platform/run/repeated-lines.ts'
import { listRules } from '../../../../store/nouns/rules.ts'
import { loadWorld } from '../../../../store/world/world.ts'
import type { Answers } from '../../answers.ts'
import { viewCluster } from '../../../views/cluster-view.ts'
import type { AdminDeps } from '../../deps.ts'
import { unreadableStore } from '../../unreadable-store.ts'

type Deps = Pick<AdminDeps, 'db' | 'placement' | 'conditions' | 'localInference' | 'clock' | 'log' | 'foreignStore'>

/** Answers also when the store cannot be read: then with what was read last, and the reason as the first problem. */
export function clusterAnswers(deps: Deps): Answers<'showCluster'> {
  const { db, placement, conditions, localInference, clock, log } = deps
  const lines = new RepeatedLines(clock)
  let last: { view: ClusterView; atMs: number } | undefined
  return {
    async showCluster() {
      const beside = localInference === undefined ? {} : { local_inference: localInference }
      try {
        const foreign = deps.foreignStore?.()
        if (foreign !== undefined) throw new AppError('unavailable', foreign)
        const view = viewCluster(await loadWorld(db), await listRules(db), placement, conditions.problems())
        last = { view, atMs: clock.nowMs() }
        return { ...view, ...beside }
      } catch (thrown) {
        const { message } = toAppError(thrown)
        lines.tell(message, (repeated) => log.error({ err: thrown, ...repeated }, 'control: the store cannot be read'))
        const { nodes, models } = last?.view ?? { nodes: [], models: [] }
        return { nodes, models, problems: [unreadableStore(message, last?.atMs), ...conditions.problems()], ...beside }
      }
    },
  }
}
