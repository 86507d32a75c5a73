import { listRules } from '../../store/rules.ts'
import { loadWorld } from '../../store/world.ts'
import type { Answers } from './answers.ts'
import { viewCluster } from './cluster-view.ts'
import type { AdminDeps } from './deps.ts'

export function clusterAnswers({ db, placement, conditions, localInference }: AdminDeps): Answers<'showCluster'> {
  return {
    async showCluster() {
      const view = viewCluster(await loadWorld(db), await listRules(db), placement, conditions.problems())
      return localInference === undefined ? view : { ...view, local_inference: localInference }
    },
  }
}
