import { randomUUID } from 'node:crypto'
import type { BackendView } from '../../../../api/admin/schemas.ts'
import { AppError } from '../../../../platform/errors.ts'
import type { NodeRow } from '../../../../store/nouns/nodes.ts'
import { askWorker } from '../../../workers/ask-worker.ts'
import { change } from '../../../changes/change.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'
import { neededNode } from '../../../views/node-view.ts'

/**
 * The engines of one node. The worker accepts at once and does the work in its own time, stopping replicas first where it
 * must; its heartbeats report the progress. A rule may start again what it stops, with the engine that is there then.
 */
export function backendAnswers(
  deps: AdminDeps,
): Answers<'listBackends' | 'installBackend' | 'upgradeBackend' | 'deleteBackend'> {
  const { db } = deps

  /** The event is written once the worker has accepted: a refused command has not happened. */
  const tellAsked = (verb: 'install' | 'upgrade' | 'delete', node: NodeRow, engine: BackendView): Promise<void> =>
    change(deps, (_tx, tell) =>
      tell({
        action: `engine.${verb}`,
        nodeId: node.id,
        reason: `${node.name} was asked to ${verb} ${engine.name}`,
        data: { engine: engine.name, operation_id: engine.operation?.id ?? null },
      }),
    )

  return {
    async listBackends(_body, { id }) {
      const { node_type: type, engines } = await neededNode(db, id)
      return type === 'agent' ? [] : engines
    },

    async installBackend(body, { id }) {
      const node = await neededBackendNode(deps, id)
      const { engine } = await askWorker(deps, node, 'engineInstall', { command_id: randomUUID(), ...body })
      await tellAsked('install', node, engine)
      return engine
    },

    async upgradeBackend(body, { id }) {
      const node = await neededBackendNode(deps, id)
      const { engine } = await askWorker(deps, node, 'engineUpgrade', { command_id: randomUUID(), ...body })
      await tellAsked('upgrade', node, engine)
      return engine
    },

    async deleteBackend(body, { id }) {
      const node = await neededBackendNode(deps, id)
      const { engine } = await askWorker(deps, node, 'engineDelete', { command_id: randomUUID(), ...body })
      await tellAsked('delete', node, engine)
      return engine
    },
  }
}

export async function neededBackendNode({ db }: AdminDeps, id: string): Promise<NodeRow> {
  const node = await neededNode(db, id)
  if (node.node_type === 'agent') throw new AppError('conflict', `${node.name} is an agent: it runs no engines.`)
  if (node.approved_at === null) throw new AppError('conflict', `${node.name} is pending. Approve it first.`)
  return node
}
