import { unload } from '../../../workers/unload.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'

/** Long enough for idle replicas to be gone when the answer comes. One that drains longer is `gone: false` and goes on. */
export const UNLOAD_WAIT_MS = 5000

/**
 * What is not there is unloaded already, so an unknown model or index is an empty list and no error: asking twice, or for
 * what has just crashed, is no mistake.
 */
export function unloadAnswers(deps: AdminDeps): Answers<'unloadModel'> {
  return {
    async unloadModel({ model_name: modelName, replica_index: replicaIndex, force }, { id }) {
      const { replicas, keptByRule } = await unload(deps, id, {
        modelName,
        replicaIndex,
        force,
        waitMs: UNLOAD_WAIT_MS,
      })
      return { replicas, kept_by_rule: keptByRule }
    },
  }
}
