import { randomUUID } from 'node:crypto'
import type { Replacements } from '../../../../core/reconcile/replacements.ts'
import { sleep } from '../../../../platform/run/clock.ts'
import { AppError } from '../../../../platform/errors.ts'
import type { NodeRow } from '../../../../store/nouns/nodes.ts'
import { listReplicasOfNode } from '../../../../store/nouns/replicas.ts'
import { askWorker } from '../../../workers/ask-worker.ts'
import { change } from '../../../changes/change.ts'
import { unload, type Unloading } from '../../../workers/unload.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'

/** For the replicas to end, and for their rows to go. */
const UNLOAD_WITHIN_MS = 30_000
const LOOK_PERIOD_MS = 100
/** Files are unlinked, not overwritten; still there may be thousands. */
const DELETE_WITHIN_MS = 30_000

export function modelFileAnswers(deps: AdminDeps): Answers<'deleteModelFiles'> {
  return {
    async deleteModelFiles({ model_name: modelName }, { id }) {
      const giveUpMs = deps.clock.nowMs() + UNLOAD_WITHIN_MS
      const order = { modelName, replicaIndex: undefined, force: false, waitMs: UNLOAD_WITHIN_MS }
      const mayUnload = (node: NodeRow, replacements: Replacements): void => refuseReturn(node, modelName, replacements)
      const unloading = await unload(deps, id, { ...order, mayUnload })
      const { node } = unloading
      await untilGone(deps, unloading, giveUpMs)
      const command = { command_id: randomUUID(), model_name: modelName }
      const deleted = await askWorker(deps, node, 'modelDelete', command, DELETE_WITHIN_MS)
      const reason = `${deleted.files} files of ${modelName} on ${node.name} were deleted`
      await change(deps, (_tx, tell) =>
        tell({ action: 'model.files_deleted', nodeId: id, modelName, reason, data: deleted }),
      )
      return deleted
    },
  }
}

/** They would be fetched again at once. */
function refuseReturn({ id, name }: NodeRow, modelName: string, { nodeIds }: Replacements): void {
  if (!nodeIds.includes(id)) return
  const text = `The rule of "${modelName}" would start it on ${name} again, and fetch its files anew.`
  throw new AppError('conflict', `${text} Remove or lower the rule, or drain ${name}, and try again.`)
}

/** A worker deletes no files under a replica; and while there is a row, a start may still be on its way. */
async function untilGone({ db, clock }: AdminDeps, { node, replicas, answered }: Unloading, giveUpMs: number) {
  const ids = new Set(replicas.map(({ id }) => id))
  for (;;) {
    const left = (await listReplicasOfNode(db, node.id)).filter(({ id }) => ids.has(id))
    if (left.length === 0) return
    const keys = replicas.filter(({ id }) => left.some((row) => row.id === id)).map(({ key }) => key)
    if (!answered) {
      const text = `${node.name} does not answer on the bus. ${keys.join(', ')} will be stopped when it is back.`
      throw new AppError('unavailable', `${text} Try again then.`, { retryAfterS: 5 })
    }
    if (clock.nowMs() >= giveUpMs) {
      const text = `${keys.join(', ')} on ${node.name} ${keys.length === 1 ? 'is' : 'are'} still being stopped.`
      throw new AppError('conflict', `${text} No files were deleted. Try again in a moment.`)
    }
    await sleep(clock, LOOK_PERIOD_MS)
  }
}
