import { replicaKey } from '../../../../core/lib/replica-key.ts'
import { AppError } from '../../../../platform/errors.ts'
import { listReplicas } from '../../../../store/nouns/replicas.ts'
import { unload, type Unloading } from '../../../workers/unload.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'

/** Long enough for an idle one to be gone when the answer comes. */
const RESTART_WAIT_MS = 1000

export function restartAnswers(deps: AdminDeps): Answers<'restartReplica'> {
  return {
    async restartReplica({ force }, { id }) {
      const found = (await listReplicas(deps.db)).find((one) => one.id === id)
      if (!found) throw new AppError('not_found', `There is no replica "${id}" any more.`)
      const { modelName, replicaIndex, nodeId } = found
      const order = { modelName, replicaIndex, restarts: id, force, waitMs: RESTART_WAIT_MS }
      const unloading = await unload(deps, nodeId, order)
      const key = replicaKey(modelName, replicaIndex)
      return { key, text: `${stopText(key, unloading)} ${startText(unloading)}` }
    },
  }
}

function stopText(key: string, { node, replicas, answered }: Unloading): string {
  const where = `${key} on ${node.name}`
  if (!answered) return `${where} is stopped as soon as ${node.name} answers again.`
  if (replicas.every(({ gone }) => gone)) return `${where} has stopped.`
  return `${where} is stopped when what runs there has finished.`
}

function startText({ keptByRule, othersServe }: Unloading): string {
  if (keptByRule) return 'The rule of its model starts another one where there is room.'
  if (othersServe) return 'No rule asks for it and others of its model serve, so none is started in its place.'
  return 'Its model is loaded again where there is room, as on a first request.'
}
