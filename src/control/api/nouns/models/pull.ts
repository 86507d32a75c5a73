import { randomUUID } from 'node:crypto'
import { AppError } from '../../../../platform/errors.ts'
import { loadWorld } from '../../../../store/world/world.ts'
import { askWorker } from '../../../workers/ask-worker.ts'
import { change } from '../../../changes/change.ts'
import type { Answers } from '../../answers.ts'
import { neededBackendNode } from '../nodes/engines.ts'
import type { AdminDeps } from '../../deps.ts'
import { neededModel } from '../../../views/model-view.ts'

/** Fetches files of models to nodes ahead of requests. The worker is the authority on progress. */
export function pullAnswers(deps: AdminDeps): Answers<'pullModel'> {
  return {
    async pullModel({ model_name: name, pull_id: known }, { id }) {
      const node = await neededBackendNode(deps, id)
      const { source, options } = neededModel(await loadWorld(deps.db), name)
      if (source?.startsWith('ollama:')) {
        throw new AppError('conflict', `Ollama fetches the files of "${name}" by itself when it is loaded.`)
      }
      const command = { pull_id: known ?? randomUUID(), model_name: name, source, options }
      const report = await askWorker(deps, node, 'modelPull', command)
      // The same command again only asks for progress: the event was written the first time.
      if (known === undefined) {
        const reason = `${node.name} was asked to fetch the files of ${name}`
        await change(deps, (_tx, tell) =>
          tell({
            action: 'model.pull',
            nodeId: id,
            modelName: name,
            reason,
            data: { pull_id: report.id },
          }),
        )
      }
      return report
    },
  }
}
